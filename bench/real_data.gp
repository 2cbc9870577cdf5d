# Drawing from real_data.csv, beside it: a mode's time over native's for each kind of matrix,
# sorted, a panel for each size. Left of 1 a kind takes less time than natively.
# usage: gnuplot -c real_data.gp real_data.csv MODE SIZE ...
stem = ARG1[1:strlen(ARG1) - 4]
mode = ARG2
panels = ARGC - 2
# Lines of the ratio, what ran, and the kind.
of_size(size) = sprintf("awk '$1 == \"%s\" && $6 == \"%s\" { print $9 FS $10 FS $2 }' FS=, '%s'", \
    size, mode, ARG1)
sorted(size) = "< " . of_size(size) . " | sort -t, -g"
lines = system(of_size(ARGV[3]) . " | wc -l")
set datafile separator ","
set terminal svg noenhanced size 640 * panels, 130 + 17 * lines font "sans,12" background "white"
set output stem . ".svg"
set grid x
set xlabel "time of " . mode . " / time of native"
set xrange [0:*]
set key top left Left reverse
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linewidth 1.5 linecolor rgb 0xd55e00

set multiplot layout 1,panels
do for [panel = 1:panels] {
    size = ARGV[panel + 2]
    set title "n = " . size
    set yrange [-1:lines]
    plot sorted(size) using ($1):0:ytic(3) with points pointtype 7 pointsize 0.01 notitle, \
        sorted(size) using (strcol(2) eq "native" ? $1 : NaN):0 with points pointtype 6 \
            linewidth 1.5 linecolor rgb 0x000000 title "ran natively", \
        sorted(size) using (strcol(2) eq "native" ? NaN : $1):0 with points pointtype 7 \
            linecolor rgb 0x0072b2 title "emulated"
}
