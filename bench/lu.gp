# Drawings from the CSV of bench/lu, beside it: NAME-speedup.svg, how many times faster than cuBLAS the fastest shape of the kernels
# is; the literature's on a TITAN V with cuBLAS 9.1 for n = 33 to 190 as bands.
# usage: gnuplot -c lu.gp NAME.csv
stem = ARG1[1:strlen(ARG1) - 4]
set datafile separator ","
set terminal svg noenhanced size 900,900 font "sans,13" background "white"
set output stem . "-speedup.svg"
set grid
set logscale x 2
set xlabel "n"
set ylabel "times cuBLAS's speed"
set key outside right Left reverse
set yrange [0:*]
types = "S D C Z"
array colour[4] = [0x0072b2, 0x000000, 0xd55e00, 0x009e73]

# The smallest time of all shapes, order by order.
best(routine, type) = sprintf("< awk -F, '$1 == \"%s\" && $2 == \"%s\" { if (!($3 in t) || $7 < t[$3]) t[$3] = $7; c[$3] = $6 } END { for (n in t) print n \",\" c[n] / t[n] }' %s | sort -n", routine, type, ARG1)

set multiplot layout 2,1
do for [routine in "getrf getri"] {
    set title routine . "Batched, 10000 matrices"
    # The literature: binary32 10 to 12 times and binary64 9 to 13 times for LU, 7 times for the inverse.
    low = routine eq "getrf" ? 9 : 7
    high = routine eq "getrf" ? 13 : 7.1
    set object 1 rectangle from 33, low to 190, high fillstyle solid 0.15 noborder fillcolor rgb 0x888888 behind
    set label 1 "literature, TITAN V" at 36, high textcolor rgb 0x666666 offset 0,0.6
    plot for [i = 1:4] best(routine, word(types, i)) using 1:2 with linespoints linewidth 2 linecolor rgb colour[i] title word(types, i), \
        1 with lines dashtype 2 linecolor rgb 0x999999 notitle
}
