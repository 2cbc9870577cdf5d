"""Writes tandem.f90, a module by iso_c_binding, from tandem.h: its enumerations, structures and
functions, each with its C name.

usage: write_fortran.py HEADER MODULE

Matrices, streams and texts that are written are of type(c_ptr), for c_loc or a device's address;
texts that are read are character arrays that end with c_null_char. Functions of tandem_ds are left
out: Fortran has no structure of 12 bytes with a binary64 number.
"""

import re
import sys

STRUCTURES = {
    "tandem_df": "real(c_float) :: hi, lo",
    "tandem_ts": "real(c_float) :: x, y, z",
    "tandem_dd": "real(c_double) :: hi, lo",
    "tandem_complex": "real(c_double) :: re, im",
}
LEFT_OUT = "tandem_ds"

# The types of arguments and results: of C, and of Fortran.
VALUES = {
    "int": "integer(c_int), value",
    "int64_t": "integer(c_int64_t), value",
    "size_t": "integer(c_size_t), value",
    "double": "real(c_double), value",
    "tandem_op": "integer(c_int), value",
    "tandem_status": "integer(c_int), value",
    "tandem_stream": "type(c_ptr), value",
    **{name: f"type({name}), value" for name in STRUCTURES},
}
POINTERS = {
    "const char": "character(kind=c_char), dimension(*), intent(in)",
    "size_t": "integer(c_size_t), intent(out)",
}
RESULTS = {"const char *": "type(c_ptr)", "tandem_status ": "integer(c_int)"}


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def constants(header):
    """(name, value) of every enumerator and version number."""
    for body in re.findall(r"typedef enum \w+ \{(.*?)\}", header, re.DOTALL):
        for name, value in re.findall(r"(\w+)\s*=\s*(\d+)", body):
            yield name, value
    yield from re.findall(r"#define (TANDEM_VERSION_\w+) (\d+)", header)


def functions(header):
    """(result, name, [(C type, name), ...]) of every function."""
    for result, name, arguments in re.findall(r"TANDEM_API ([\w ]+?[ *])(tandem_\w+)\((.*?)\);",
                                              header, re.DOTALL):
        words = [" ".join(a.split()) for a in arguments.split(",")]
        split = [re.fullmatch(r"(.*?[ *])(\w+)", word).groups() for word in words if word != "void"]
        yield result, name, [(kind.strip(), argument) for kind, argument in split]


def declared(kind):
    """How an argument of this C type is declared."""
    if kind.endswith("*"):
        return POINTERS.get(kind[:-1].strip(), "type(c_ptr), value")
    return VALUES[kind]


def write_function(result, name, arguments):
    names = ", &\n            ".join(argument for _, argument in arguments)
    yield f"        function {name}({names}) &"
    yield f"            result(answer) bind(c, name='{name}')"
    yield "            import"
    for kind, argument in arguments:
        yield f"            {declared(kind)} :: {argument}"
    yield f"            {RESULTS[result]} :: answer"
    yield "        end function"


def write(header):
    yield "! tandem.f90 - Tandem for Fortran, made from tandem.h, which has the documentation."
    yield "module tandem"
    yield "    use, intrinsic :: iso_c_binding"
    yield "    implicit none"
    yield "    public"
    yield "    private :: c_strlen"
    for name, value in constants(header):
        yield f"    integer(c_int), parameter :: {name} = {value}"
    for name, parts in STRUCTURES.items():
        yield f"    type, bind(c) :: {name}"
        yield f"        {parts}"
        yield "    end type"
    yield "    interface"
    for function in functions(header):
        if not any(LEFT_OUT in kind for kind, _ in function[2]):
            yield from write_function(*function)
    yield "        function c_strlen(text) result(length) bind(c, name='strlen')"
    yield "            import"
    yield "            type(c_ptr), value :: text"
    yield "            integer(c_size_t) :: length"
    yield "        end function"
    yield "    end interface"
    yield "contains"
    yield "    !> What tandem_last_message says, as a text of Fortran."
    yield "    function tandem_message() result(message)"
    yield "        character(:), allocatable :: message"
    yield "        character(kind=c_char), dimension(:), pointer :: letters"
    yield "        type(c_ptr) :: text"
    yield "        integer :: i"
    yield "        text = tandem_last_message()"
    yield "        call c_f_pointer(text, letters, [c_strlen(text)])"
    yield "        allocate (character(size(letters)) :: message)"
    yield "        do i = 1, size(letters)"
    yield "            message(i:i) = letters(i)"
    yield "        end do"
    yield "    end function"
    yield "end module"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        text = without_comments(file.read())
    with open(sys.argv[2], "w", encoding="utf-8") as module:
        module.writelines(line + "\n" for line in write(text))
