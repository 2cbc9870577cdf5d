"""`tandem doctor` tells from small programs, built here, whether preloading can work, and what the
machine has.

usage: doctor_test.py LAUNCHER VERSION COMPILER...
"""
import json
import os
import stat
import subprocess
import sys
import unittest

from launcher_case import (CUDA_LIBRARY, Case, HOSTDEVICE, PRODUCT, STARTS_SYSTEM_PROGRAMS,
                           compile_c, library)


class Doctor(Case):
    def setUp(self):
        super().setUp()
        self.add_cuda()
        self.add_driver()
        self.cublas = library(self.folder, 'real/libcublas.so.13',
                              'void cublasDgemm_v2(void) {} void cublasDtrsv_v2(void) {}')

    def doctor(self, program, status, *texts):
        result = self.tandem('doctor', program)
        self.assertEqual((result.returncode, result.stderr), (status, ''), result)
        for text in texts:
            self.assertIn(text, result.stdout)
        return result.stdout.splitlines()[-1]

    def product(self, name, *arguments):
        return compile_c(self.folder, name, PRODUCT, *arguments)

    def test_imports(self):
        program = self.product('program', self.cublas, '-Wl,-rpath,$ORIGIN/real')
        verdict = self.doctor(program, 0, 'intercepted: cublasDgemm_v2 (in program)',
                              'left alone:  1 other')
        self.assertTrue(verdict.startswith('verdict:     works:'), verdict)

    def test_imports_of_a_library(self):
        for flag in ['--enable-new-dtags', '--disable-new-dtags']:
            inner = library(self.folder, 'inner/libinner.so', PRODUCT.replace('main', 'inner'),
                            self.cublas)
            outer = library(self.folder, 'outer/libouter.so',
                            'int inner(void); int outer(void) { return inner(); }', inner,
                            '-Wl,-rpath,${ORIGIN}/../inner', '-Wl,' + flag)
            program = compile_c(
                self.folder, 'program', 'int outer(void); int main(void) { return outer(); }',
                outer, '-Wl,-rpath,$ORIGIN/outer', '-Wl,' + flag, '-Wl,--allow-shlib-undefined',
                f'-Wl,-rpath-link,{self.folder}/inner:{self.folder}/real')
            verdict = self.doctor(program, 0, 'cublasDgemm_v2 (in libinner.so)')
            self.assertIn('works', verdict)
            (self.folder / 'inner' / 'libinner.so').unlink()
            self.assertIn('will not work', self.doctor(program, 1, 'not found:   libinner.so'))

    def test_rpath_is_inherited_and_runpath_is_not(self):
        inner = library(self.folder, 'inner/libinner.so', PRODUCT.replace('main', 'inner'),
                        self.cublas)
        elsewhere = f'-Wl,-rpath-link,{self.folder}/inner:{self.folder}/real'
        for of_program, of_outer, is_found in [
            ('--disable-new-dtags', [], True), ('--enable-new-dtags', [], False),
            ('--disable-new-dtags', ['-Wl,-rpath,/no', '-Wl,--enable-new-dtags'], False)
        ]:
            outer = library(self.folder, 'outer/libouter.so',
                            'int inner(void); int outer(void) { return inner(); }', inner,
                            *of_outer)
            program = compile_c(self.folder, 'program',
                                'int outer(void); int main(void) { return outer(); }', outer,
                                '-Wl,-rpath,$ORIGIN/outer:$ORIGIN/inner', '-Wl,' + of_program,
                                elsewhere)
            shown = self.doctor(program, 0 if is_found else 1)
            self.assertEqual('works:' in shown, is_found, (of_program, of_outer))

    def test_library_path(self):
        inner = library(self.folder, 'inner/libinner.so', PRODUCT.replace('main', 'inner'),
                        self.cublas)
        program = compile_c(self.folder, 'program',
                            'int inner(void); int main(void) { return inner(); }', inner,
                            f'-Wl,-rpath-link,{self.folder}/real')
        self.doctor(program, 1, 'not found:   libinner.so')
        self.library_path.append(str(self.folder / 'inner'))
        self.doctor(program, 0, 'in libinner.so')

    def test_no_cublas(self):
        program = compile_c(self.folder, 'program', 'int main(void) { return 0; }')
        self.assertIn('neither it nor its libraries', self.doctor(program, 1))

    def test_plugins_may_come(self):
        program = compile_c(
            self.folder, 'program',
            '#include <dlfcn.h>\nint main(int c, char **v) { return !dlopen(v[c - 1], RTLD_NOW); }',
            '-ldl')
        self.assertIn('(ctypes) are not, as this build', self.doctor(program, 0))
        library(self.folder, CUDA_LIBRARY, 'void dlsym(void) {}')
        self.assertIn(
            'may work: no cuBLAS found, but it loads libraries at run time: '
            'those that import from cuBLAS are intercepted, '
            'functions looked up with dlsym (ctypes) too', self.doctor(program, 0))

    def test_cusolver(self):
        """Its factorisations are intercepted, where they are imported or looked up; its other
        functions are no functions of cuBLAS."""
        solver = library(self.folder, 'real/libcusolver.so.12',
                         'void cusolverDnDgetrf(void) {} void cusolverDnCreate(void) {}')
        program = compile_c(
            self.folder, 'program', 'void cusolverDnDgetrf(void); void cusolverDnCreate(void);'
            'int main(void) { cusolverDnCreate(); cusolverDnDgetrf(); return 0; }', solver,
            f'-Wl,-rpath,{self.folder}/real')
        shown = self.doctor(program, 0, 'intercepted: cusolverDnDgetrf (in program)')
        self.assertNotIn('left alone', shown)
        program = compile_c(
            self.folder, 'program', '#include <dlfcn.h>\nint main(void) {'
            ' return !dlsym(dlopen("libcusolver.so.12", RTLD_NOW), "cusolverDnZgetrf"); }', '-ldl')
        self.doctor(program, 1, 'looked up:   cusolverDnZgetrf (in program): not seen')

    def test_dlopen_of_cublas(self):
        """Which way it goes: by names that it holds, by what the library stands before, and by
        TANDEM_DLSYM."""
        def opener(name):
            return compile_c(
                self.folder, 'program', '#include <dlfcn.h>\nint main(void) {'
                f' return !dlsym(dlopen("libcublas.so.13", RTLD_NOW), "{name}"); }}', '-ldl')

        program = opener('cublasDgemm_v2')
        looked_up = 'looked up:   cublasDgemm_v2 (in program): '
        unseen = 'this build of Tandem does not stand before dlsym'
        verdict = self.doctor(program, 1, looked_up + 'not seen, as ' + unseen)
        self.assertIn(
            'program opens cuBLAS with dlopen: '
            'functions that it looks up with dlsym are not seen, as ' + unseen, verdict)
        library(self.folder, CUDA_LIBRARY, 'void dlsym(void) {}')
        verdict = self.doctor(program, 0, looked_up + 'intercepted\n')
        self.assertIn('works: its products can be intercepted: program opens cuBLAS with dlopen',
                      verdict)
        self.environment['TANDEM_DLSYM'] = 'off'
        self.assertIn('are not seen, as TANDEM_DLSYM is off',
                      self.doctor(program, 1, 'not seen, as TANDEM_DLSYM is off'))
        del self.environment['TANDEM_DLSYM']
        verdict = self.doctor(opener('cublasSgemm_v2'), 0)
        self.assertIn(
            'may work: program opens cuBLAS with dlopen, '
            'but no function that Tandem intercepts is named',
            verdict)

    def test_trampolines(self):
        """Functions of cuBLAS's names that look the proper ones up, as those of JAX's plug-in."""
        library(self.folder, CUDA_LIBRARY, 'void dlsym(void) {}')
        for name in ('"libcublas.so.13"', 'getenv("ITS_CUBLAS")'):
            plugin = library(
                self.folder, 'plugin.so', '#include <dlfcn.h>\n#include <stdlib.h>\n'
                f'void cublasDgemm_v2(void) {{ void *cublas = dlopen({name}, RTLD_NOW);'
                '((void (*)(void))dlsym(cublas, "cublasDgemm_v2"))(); }', '-ldl')
            self.assertIn(
                'works: its products can be intercepted: plugin.so opens cuBLAS with dlopen',
                self.doctor(plugin, 0, 'looked up:   cublasDgemm_v2 (in plugin.so)'))

    def test_callers_of_like_names(self):
        """cuBLASMp and NVBLAS call cuBLAS, and are no part of it."""
        for name, call in (('libcublasmp.so.0', 'cublasDgemm_v2'),
                           ('libnvblas.so.13', 'cublasXtDgemm')):
            cublas = library(self.folder, 'real/libcublas.so.13', f'void {call}(void) {{}}')
            caller = library(self.folder, 'real/' + name,
                             f'void {call}(void); void cublasMpGemm(void) {{ {call}(); }}', cublas)
            program = compile_c(
                self.folder, 'program', 'void cublasMpGemm(void);'
                'int main(void) { cublasMpGemm(); return 0; }', caller,
                f'-Wl,-rpath,{self.folder}/real')
            self.library_path.append(str(self.folder / 'real'))
            verdict = self.doctor(program, 0, f'intercepted: {call} (in {name})')
            self.assertIn('works: its products can be intercepted', verdict)
            self.assertNotIn('left alone', self.tandem('doctor', program).stdout)

    def test_static_cublas(self):
        stripped = compile_c(
            self.folder, 'stripped', 'const char *volatile mark = "CUBLAS_LOGINFO_DBG";'
            'int main(void) { return !mark; }', '-s')
        self.assertIn('stripped holds cuBLAS itself', self.doctor(stripped, 1))

    def test_static_program(self):
        program = compile_c(self.folder, 'program', 'int main(void) { return 0; }', '-static')
        self.assertIn('statically linked',
                      self.doctor(program, 1, 'kind:        statically linked, 64-bit'))

    def test_musl(self):
        program = self.product('program', self.cublas,
                               '-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1')
        self.assertIn('musl', self.doctor(program, 1))

    def test_privileges(self):
        program = self.product('program', self.cublas)
        for bit, word in [(stat.S_ISUID, 'setuid'), (stat.S_ISGID, 'setgid')]:
            program.chmod(0o755 | bit)
            self.assertIn(f'it is {word}: the loader ignores LD_PRELOAD', self.doctor(program, 1))

    def test_other_machines(self):
        program = bytearray(self.product('program', self.cublas).read_bytes())
        other = self.folder / 'other'
        own = {62: 'x86-64', 183: 'aarch64'}[int.from_bytes(program[18:20], 'little')]
        for machine, name in [(8, 'ELF machine 8'), (21, 'ppc64')]:  # EM_MIPS, EM_PPC64
            program[18:20] = machine.to_bytes(2, 'little')
            other.write_bytes(program)
            other.chmod(0o755)
            self.assertIn(
                f"another kind of processor, {name}; Tandem's libraries are for {own}",
                self.doctor(other, 1))
        program[4] = 1  # ELFCLASS32
        other.write_bytes(program)
        self.assertIn('32-bit', self.doctor(other, 1))

    def script(self, first_line):
        path = self.folder / 'script'
        path.write_text(first_line + '\necho\n')
        path.chmod(0o755)
        return path

    @STARTS_SYSTEM_PROGRAMS
    def test_scripts(self):
        program = self.product('program', self.cublas, '-Wl,-rpath,$ORIGIN/real')
        self.doctor(self.script(f'#!{program} -x'), 0, f'interpreter: {program}', '(in program)')
        self.environment['PATH'] += f':{self.folder}'
        self.doctor(self.script('#!/usr/bin/env -S program -x'), 0, f'interpreter: {program}')
        self.assertIn('/no/such', self.doctor(self.script('#!/no/such'), 1))
        self.assertIn('may work: it is a shell script, which starts programs',
                      self.doctor(self.script('#!/bin/sh'), 0))

    @STARTS_SYSTEM_PROGRAMS
    def test_interpreters_that_are_scripts(self):
        program = self.product('program', self.cublas, '-Wl,-rpath,$ORIGIN/real')
        wrapper = self.script(f'#!{program}').rename(self.folder / 'wrapper')
        self.doctor(self.script(f'#!{wrapper}'), 0, f'interpreter: {program}', '(in program)')
        circle = self.script(f'#!{self.folder}/script')
        self.assertIn('its interpreters are scripts, more than 5 deep', self.doctor(circle, 1))

    @STARTS_SYSTEM_PROGRAMS
    def test_texts_without_interpreter(self):
        """execvp gives them to sh, if they can be executed; else their suffix says what runs them,
        if anything."""
        self.assertIn('starts programs', self.doctor(self.script('text'), 0, 'interpreter: '))
        (self.folder / 'mine.py').write_text('import cupy\n')
        for name in ['./mine.py', 'mine.py', self.folder / 'mine.py']:
            self.assertIn('may work', self.doctor(name, 0, 'run as:      python3 ',
                                                  'interpreter: '))
        (self.folder / 'notes').write_text('text')
        for name in ['notes', './notes']:
            self.assertIn('neither an ELF program nor a script', self.doctor(name, 1))

    @STARTS_SYSTEM_PROGRAMS
    def test_arguments_of_the_program_are_its_own(self):
        result = self.tandem('doctor', 'env', '--help', 'x')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertIn('starts programs', result.stdout)

    def test_libraries_that_cannot_be_loaded(self):
        inner = library(self.folder, 'inner/libinner.so', PRODUCT.replace('main', 'inner'),
                        self.cublas)
        program = compile_c(self.folder, 'program',
                            'int inner(void); int main(void) { return inner(); }', inner,
                            f'-Wl,-rpath-link,{self.folder}/real', '-Wl,-rpath,$ORIGIN/inner')
        inner.write_text('no library')
        self.assertIn('the loader refuses it: ', self.doctor(program, 1))

    def test_nothing_of_the_program_runs(self):
        mark = self.folder / 'mark'
        source = ('#include <stdio.h>\n__attribute__((constructor)) static void f(void) '
                  f'{{ fopen("{mark}", "w"); }}')
        inner = library(self.folder, 'inner/libinner.so', source)
        program = compile_c(self.folder, 'program', 'int main(void) { return 0; }',
                            '-Wl,--no-as-needed', inner, '-Wl,-rpath,$ORIGIN/inner')
        self.assertIn('neither it nor its libraries', self.doctor(program, 1))
        self.assertFalse(mark.exists())

    def test_json(self):
        program = self.product('program', self.cublas, '-Wl,-rpath,$ORIGIN/real')
        for arguments, status in [([program], 0), (['/bin/true'], 1), ([], 0)]:
            text = self.tandem('doctor', *arguments).stdout
            result = self.tandem('doctor', '--json', *arguments)
            self.assertEqual((result.returncode, result.stderr), (status, ''))
            found = json.loads(result.stdout)
            lines = [f'{fact["name"] + ":":<12} {fact["text"]}' for fact in found['facts']]
            lines.append(f'{"verdict:":<12} {found["verdict"]}: {found["reason"]}')
            self.assertEqual(lines, text.splitlines())
        self.assert_refused(self.tandem('doctor', '--json', 'no-such'), 2, "'no-such'")

    def test_names_tell_a_terminal_nothing(self):
        """Nor do they begin a line: a fact is a whole one for programs, too."""
        program = self.product('a\x1b[31m\nb', self.cublas, '-Wl,-rpath,$ORIGIN/real')
        shown = f'{self.folder}/a\\x1b[31m\\x0ab'
        self.doctor(program, 0, f'program:     {shown}\n', '(in a\\x1b[31m\\x0ab)\n')
        facts = json.loads(self.tandem('doctor', '--json', program).stdout)['facts']
        self.assertIn({'name': 'program', 'text': shown}, facts)
        self.assertIn('interpreter /\\x1b[31m cannot', self.doctor(self.script('#!/\x1b[31m'), 1))

    def test_programs_that_use_no_cublas(self):
        """Nothing is said to be possible of a program that loads and starts nothing, whatever
        system libraries do."""
        library(self.folder, 'inner/libselinux.so.1',
                'void dlopen(void), execve(void); void f(void) { dlopen(); execve(); }',
                '-Wl,--allow-shlib-undefined')
        plain = compile_c(self.folder, 'program', 'void f(void); int main(void) { f(); return 0; }',
                          self.folder / 'inner/libselinux.so.1', '-Wl,-rpath,$ORIGIN/inner')
        verdict = self.doctor(plain, 1)
        self.assertIn('it uses no cuBLAS: neither it nor its libraries', verdict)
        other = library(self.folder, 'real/libcublas.so.13', 'void cublasDtrsv_v2(void) {}')
        caller = compile_c(self.folder, 'caller',
                           'void cublasDtrsv_v2(void); int main(void) { cublasDtrsv_v2(); }', other,
                           '-Wl,-rpath,$ORIGIN/real', '-Wl,--disable-new-dtags')
        self.assertNotIn('uses no cuBLAS', self.doctor(caller, 1, 'left alone:  1 other'))
        gone = library(self.folder, 'inner/libgone.so')
        needs = compile_c(self.folder, 'needs', 'int main(void) { return 0; }',
                          '-Wl,--no-as-needed', gone)
        gone.unlink()
        self.assertNotIn('uses no cuBLAS', self.doctor(needs, 1, 'not found:   libgone.so'))

    @STARTS_SYSTEM_PROGRAMS
    def test_shims(self):
        """A version manager's shim has the interpreter's name, and is a script."""
        shim = self.script('#!/bin/bash\nexec real "$@"').rename(self.folder / 'python9')
        verdict = self.doctor(self.script(f'#!{shim}'), 0,
                              f'wrapper:     {shim}, a script itself\n', 'interpreter: ')
        self.assertIn(f'its interpreter {shim} is a script itself, which starts another program',
                      verdict)
        self.assertNotIn('wrapper', self.tandem('doctor', self.script('#!/bin/bash')).stdout)
        self.assertIn('it is a shell script, which starts programs: they are preloaded, too, and '
                      'doctor examines each (`pyenv which', self.doctor(shim, 0))

    def test_damaged_files(self):
        program = self.product('program', self.cublas).read_bytes()
        damaged = self.folder / 'damaged'
        for length in [0, 3, 17, 63, 64, 100, 1000, 4096, len(program) // 2, len(program) - 100]:
            damaged.write_bytes(program[:length])
            damaged.chmod(0o755)
            self.assertIn(self.tandem('doctor', damaged).returncode, [0, 1], length)
            if length >= 64:  # with all of the first header
                self.assertIn('its file is damaged', self.doctor(damaged, 1), length)

    def test_missing_program(self):
        self.assert_refused(self.tandem('doctor', 'no-such-program'), 2, "'no-such-program'",
                            'No such file')
        (self.folder / 'loop').symlink_to('loop')
        self.assert_refused(self.tandem('doctor', './loop'), 2, "'./loop'", 'symbolic links')
        for folder in ('/tmp', '.', 'tools'):
            self.assert_refused(self.tandem('doctor', folder), 2, f"'{folder}'", 'Is a directory')

    def test_what_is_no_file_is_not_waited_for(self):
        fifo = self.folder / 'fifo'
        os.mkfifo(fifo, 0o755)
        self.assertIn('neither an ELF program nor a script', self.doctor(fifo, 1))
        self.assert_refused(self.tandem('run', fifo), 126, str(fifo), 'Permission denied')


class Attach(Case):
    """What attaching to a process would reach. An emulator's processes have its own libraries."""

    HOST = r'''
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names)
{
    for (int i = 1; i < count; i++)
        if (!dlopen(names[i], RTLD_NOW)) return puts(dlerror());
    puts("loaded");
    fflush(stdout);
    return getchar() == 0;
}
'''

    def setUp(self):
        super().setUp()
        self.host = compile_c(self.folder, 'host', self.HOST, '-ldl')

    def load(self, *libraries):
        """The number of a process that has them."""
        process = subprocess.Popen([self.host, *libraries], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate, '')
        self.assertEqual(process.stdout.readline(), 'loaded\n')
        return process.pid

    def facts(self, pid, status=0):
        result = self.tandem('doctor', '--json', '--attach', pid)
        self.assertEqual((result.returncode, result.stderr), (status, ''), result)
        told = json.loads(result.stdout)
        return told['verdict'], sorted((fact['name'], fact['text']) for fact in told['facts'])

    def test_numbers_of_no_process(self):
        for bad in ('0', '-1', 'x', '', '1.5', '2147483648', '99999999999999999999'):
            self.assert_refused(self.tandem('doctor', f'--attach={bad}'), 2,
                                f"--attach is '{bad}'; allowed: the number of a process")

    @STARTS_SYSTEM_PROGRAMS
    def test_libraries(self):
        cublas = library(self.folder, 'real/libcublas.so.13', 'void cublasDgemm_v2(void) {}')
        # Its cuBLAS comes before one in LD_LIBRARY_PATH.
        caller = library(self.folder, 'libcaller.so',
                         'void cublasDgemm_v2(void); void call(void) { cublasDgemm_v2(); }',
                         cublas, f'-Wl,--disable-new-dtags,-rpath,{cublas.parent}')
        other = library(self.folder, 'libother.so', 'void other(void) {}')
        self.assertEqual(self.facts(self.load(other), 1), ('will not work', []))
        reached = ('reached', f'{caller}, by 1 functions')
        pid = self.load(other, caller)
        self.assertEqual(self.facts(pid), ('works', [reached]))
        # A package was updated while the process ran.
        other.unlink()
        unread = ('unread', f'{other} (deleted)')
        self.assertEqual(self.facts(pid), ('may work', [reached, unread]))
        caller.unlink()
        self.assertEqual(self.facts(pid),
                         ('may work', [('unread', f'{caller} (deleted)'), unread]))


class DoctorOnHostDevice(Case):
    def setUp(self):
        super().setUp()
        self.add_host_device()

    def verdict(self, program):
        result = self.tandem('doctor', program)
        return result.returncode, result.stdout.splitlines()[-1]

    def test_stand_ins_need_not_be_installed(self):
        cublas = library(self.folder, 'real/libcublas.so.13',
                         'void cublasDgemm_v2(void) {} void cublasDtrsv_v2(void) {}')
        result = self.tandem('doctor', compile_c(self.folder, 'program', PRODUCT, cublas))
        self.assertEqual(result.returncode, 0, result)
        self.assertNotIn('not found', result.stdout)

    def test_what_is_not_implemented(self):
        """Stubs are the weak symbols of the stand-ins, here of small ones; a program on a GPU hears
        nothing of them."""
        stub = '__attribute__((weak)) void {}(void) {{}}'
        names = [f'cublasStub{i}' for i in range(8)]
        source = 'void cublasDgemm_v2(void) {} ' + ' '.join(stub.format(name) for name in names)
        cublas = library(self.folder, 'hostgpu/libcublas.so.13', source)
        runtime = self.folder / HOSTDEVICE

        def program(calls):
            declared = ''.join(f'void {name}(void);' for name in calls)
            body = ''.join(f'{name}();' for name in calls)
            return compile_c(self.folder, 'program',
                             f'{declared} int main(void) {{ {body} return 0; }}', cublas, runtime)

        few = program(['cublasDgemm_v2', 'cudaMalloc', 'cudaArrayGetInfo', names[3]])
        result = self.tandem('doctor', few)
        self.assertEqual(result.returncode, 0, result)
        lines = [line for line in result.stdout.splitlines() if line.startswith('not there:')]
        self.assertEqual(len(lines), 1, result)
        named, ending = lines[0].removeprefix('not there:   ').split(' (in program): ')
        self.assertEqual(set(named.split(', ')), {'cudaArrayGetInfo', names[3]})
        self.assertEqual(ending, 'the host device returns that they are not supported')
        self.assertIn(' and 3 more (in program)',
                      self.tandem('doctor', program(['cudaArrayGetInfo', *names])).stdout)
        self.assertNotIn('not there',
                         self.tandem('doctor', program(['cublasDgemm_v2', 'cudaMalloc'])).stdout)
        self.add_cuda()
        self.add_driver()
        self.assertNotIn('not there', self.tandem('doctor', few).stdout)

    def test_static_runtime(self):
        program = compile_c(
            self.folder, 'program', 'const char *volatile mark = "cudaErrorMissingConfiguration";'
            'int main(void) { return !mark; }')
        status, verdict = self.verdict(program)
        self.assertEqual(status, 1)
        self.assertIn('cannot run on the host device', verdict)

    def test_kernels(self):
        runtime = library(self.folder, 'real/libcudart.so.13',
                          'void __cudaRegisterFunction(void) {}')
        program = compile_c(self.folder, 'program', 'void __cudaRegisterFunction(void);'
                            'int main(void) { __cudaRegisterFunction(); return 0; }', runtime)
        status, verdict = self.verdict(program)
        self.assertEqual(status, 1)
        self.assertIn('program has GPU kernels of its own', verdict)

    def test_cusolver(self):
        """The stand-in takes the place of a cuSOLVER, whose own needs do not matter, if this build
        has one."""
        sparse = library(self.folder, 'real/libcusparse.so.12')
        solver = library(self.folder, 'real/libcusolver.so.12', 'void cusolverDnCreate(void) {}',
                         '-Wl,--no-as-needed', sparse)
        program = compile_c(
            self.folder, 'program', 'void cusolverDnCreate(void);'
            'int main(void) { cusolverDnCreate(); return 0; }', solver)
        self.assertNotIn('stand-in', self.verdict(program)[1])
        (self.folder / 'hostgpu' / 'libcusolver.so.12').unlink()
        status, verdict = self.verdict(program)
        self.assertEqual(status, 1)
        self.assertIn('needs libcusolver.so.12, for which the host device has no stand-in', verdict)

    def test_other_versions_and_libraries(self):
        for name in ['libcudart.so.12', 'libcublas.so.12', 'libcusolver.so.11', 'libcuda.so.1']:
            needed = library(self.folder, 'real/' + name)
            program = compile_c(self.folder, 'program', 'int main(void) { return 0; }',
                                '-Wl,--no-as-needed', needed)
            status, verdict = self.verdict(program)
            self.assertEqual(status, 1, name)
            self.assertIn(f'needs {name}, for which the host device has no stand-in', verdict)


class DoctorOfMachine(Case):
    def test_cublas_emulation_is_named(self):
        said = self.tandem('doctor', CUBLAS_EMULATE_DOUBLE_PRECISION='1',
                           CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT='55').stdout
        for variable in ('CUBLAS_EMULATE_DOUBLE_PRECISION=1',
                         'CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT=55'):
            self.assertIn(f'emulation:   {variable}: products that stay native', said)
        self.assertNotIn('emulation:', self.tandem('doctor', CUBLAS_LOGINFO_DBG='1').stdout)

    def test_nothing(self):
        self.add_driver(init=100)
        result = self.tandem('doctor')
        self.assertEqual(result.returncode, 1)
        self.assertIn('device:      none (no device is here)', result.stdout)

    @STARTS_SYSTEM_PROGRAMS
    def test_host_device(self):
        self.add_host_device()
        self.add_driver(init=100)
        result = self.tandem('doctor')
        self.assertEqual(result.returncode, 0)
        self.assertIn('nothing about a GPU', result.stdout.splitlines()[-1])

    @STARTS_SYSTEM_PROGRAMS
    def test_device(self):
        self.add_cuda()
        self.add_driver()
        library(self.folder, 'driver/libcublas.so.12')
        result = self.tandem('doctor')
        self.assertEqual(result.returncode, 0)
        for line in [
                'driver:      CUDA 13.0', 'device 0:    Toy 1, compute capability 9.1, 1.5 GiB',
                f'library:     libcublas.so.12 is {self.folder.resolve()}/driver/libcublas.so.12',
                'verdict:     works: programs run on the GPU'
        ]:
            self.assertIn(line, result.stdout.splitlines())

    def doctor_of_code(self, archs, **variables):
        self.add_cuda(f'const char built[] = "tandem has device code for: {archs}";')
        self.add_driver()
        return self.tandem('doctor', **variables)

    @STARTS_SYSTEM_PROGRAMS
    def test_device_code(self):
        said = self.doctor_of_code('80,90,ptx80').stdout
        self.assertIn('code 0:      a binary for compute capability 9.0', said.splitlines())
        said = self.doctor_of_code('80,90a,ptx80', CUDA_CACHE_PATH='/scratch').stdout
        self.assertIn('code 0:      no binary: the driver compiles PTX for compute capability 8.0,',
                      said)
        self.assertIn('keeps it in /scratch (CUDA_CACHE_PATH)', said)
        said = self.doctor_of_code('90,ptx75', CUDA_FORCE_PTX_JIT='1').stdout
        self.assertIn('PTX for compute capability 7.5', said)

    @STARTS_SYSTEM_PROGRAMS
    def test_no_device_code(self):
        result = self.doctor_of_code('80')
        self.assertEqual(result.returncode, 1)
        self.assertIn('code 0:      neither a binary nor PTX of this build runs on it',
                      result.stdout)
        self.assertIn('verdict:     will not work: this build has no code for a device',
                      result.stdout)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
