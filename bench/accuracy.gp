# Drawings from the CSV of bench/accuracy, beside it: NAME-phi.svg, -k, -moduli, -spread, and, if times were measured,
# -speed.
# usage: gnuplot -c accuracy.gp NAME.csv
stem = ARG1[1:strlen(ARG1) - 4]
set datafile separator ","
set datafile missing NaN
set terminal svg noenhanced size 900,560 font "sans,13" background "white"
set grid
set style data linespoints
set key outside right Left reverse samplen 3

# The modes without parameter that were measured.
modes = ""
do for [name in "native df ts dd d+s ozaki-sgemm ozaki1 ozaki2 faithful"] {
    stats ARG1 using (strcol("mode") eq name ? 1 : 0) nooutput
    if (STATS_max > 0) { modes = modes . " " . name }
}
array colour[9] = [0x000000, 0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0xb22222, 0x6a3d9a]

# What is drawn of a line: a number of the study and mode that are asked for, or nothing.
pick(study, mode, number) = strcol("study") eq study && strcol("mode") eq mode ? number : NaN
macro_style = "linecolor rgb colour[m] linewidth 2 pointtype m title word(modes, m)"
set macros
set logscale y 2
set format y "2^%L"
set ylabel "err"

# Modes with parameters.
parametric = ""
do for [name in "ozaki-sgemm ozaki1 ozaki2"] {
    stats ARG1 using (strcol("study") eq "errors" && strstrt(strcol("mode"), name . ":") == 1 ? 1 : 0) nooutput
    if (STATS_max > 0) { parametric = parametric . " " . name }
}

# One k for what is not drawn against k: the one next to 1024, of those that modes with parameters have.
is_candidate(line) = strcol("study") eq "errors" && (parametric eq "" || strstrt(strcol("mode"), ":") > 0)
stats ARG1 using (is_candidate(0) ? abs(log(column("k") / 1024.0)) : 99) nooutput
nearest = STATS_min
is_depth(line) = abs(abs(log(column("k") / 1024.0)) - nearest) < 1e-6

# phi is the last word of the name of the data.
is_phi(line) = words(strcol("data")) == 2 && word(strcol("data"), 1) eq "phi"
set output stem . "-phi.svg"
set title "Largest |C - exact| / (|A||B|), data (u-.5)exp(phi g)"
set xlabel "phi"
plot for [m = 1:words(modes)] ARG1 \
    using (is_phi(0) ? real(word(strcol("data"), 2)) : NaN):\
    (is_phi(0) && is_depth(0) ? pick("errors", word(modes, m), column("err")) : NaN) @macro_style

set output stem . "-k.svg"
set title "Largest |C - exact| / (|A||B|), data (u-.5)exp(g/2)"
set xlabel "k"
set logscale x 2
plot for [m = 1:words(modes)] ARG1 \
    using 'k':(strcol("data") eq "phi 0.5" ? pick("errors", word(modes, m), column("err")) : NaN) @macro_style

stats ARG1 using (strcol("study") eq "times" && strcol("ms") ne "" ? 1 : 0) nooutput
if (STATS_max > 0) {
    set output stem . "-speed.svg"
    set title "Speed, a multiply-accumulate counted as two operations"
    set xlabel "N"
    set ylabel "TFLOP/s"
    set format y "%g"
    plot for [m = 1:words(modes)] ARG1 using 'n':(pick("times", word(modes, m), column("TFLOP/s"))) @macro_style
    set format y "2^%L"
    set ylabel "err"
}
unset logscale x

# The kinds of data in the order of the CSV, each once, with the largest err over k. Sums that cancel take long formats far
# below the rest.
set output stem . "-spread.svg"
set title "Largest |C - exact| / (|A||B|), all kinds of data"
unset xlabel
set xtics rotate by -60
set yrange [2**-58:*]
plot for [m = 1:words(modes)] "< awk -F, -v mode='" . word(modes, m) . "' '$1 == \"errors\" && $2 == mode { \
        if (!($3 in err)) order[count++] = $3; if ($7 > err[$3]) err[$3] = $7 } \
        END { for (i = 0; i < count; i++) print i \",\" order[i] \",\" err[order[i]] }' '" . ARG1 . "'" \
    using 1:3:xtic(2) with points pointsize 1.5 @macro_style
set xtics norotate autofreq
set yrange [*:*]

# err against the parameter, for narrow and wide data.
array data[3] = ["U(0;1)", "phi 0.5", "phi 4"]
parameter(name) = strstrt(strcol("mode"), name . ":") == 1 ? real(strcol("mode")[strlen(name) + 2:*]) : NaN
if (words(parametric) > 0) {
    set output stem . "-moduli.svg"
    set title "Largest |C - exact| / (|A||B|) against the number of moduli or slices"
    set xlabel "N or S"
    plot for [p = 1:words(parametric)] for [d = 1:3] ARG1 \
        using (parameter(word(parametric, p))):\
        (strcol("study") eq "errors" && strcol("data") eq data[d] && is_depth(0) ? column("err") : NaN) \
        linecolor rgb colour[p + 5] linewidth 2 dashtype d pointtype p title word(parametric, p) . ", " . data[d]
}
set output
