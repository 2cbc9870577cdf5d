# Drawings from the CSV of bench/lu, beside it: NAME-speedup.svg, how many times faster than cuBLAS the fastest shape of the kernels
# is; beside it what the literature says of a TITAN V with cuBLAS 9.1, where it names an order: factors near n = 40, its peak, and at
# "large n", to 190, for which it gives ranges. Of inverses it gives one number a type, and no order.
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

# From ... to times cuBLAS's speed: type, order, low, high.
$literature <<END
S,40,12,12
D,40,13,13
C,40,9,9
Z,40,8,8
S,184,10,12
D,188,9,12
C,192,7,8
Z,196,5,6
END

set multiplot layout 2,1
do for [routine in "getrf getri"] {
    set title routine . "Batched, 10000 matrices, beyond order 256 1000"
    unset label
    if (routine eq "getri") { set label 1 "literature, no order given: S 7, D 7, C 5, Z 4" at 4.5, graph 0.93 textcolor rgb 0x666666 }
    plot for [i = 1:4] best(routine, word(types, i)) using 1:2 with linespoints linewidth 2 linecolor rgb colour[i] title word(types, i), \
        for [i = 1:4] $literature using (routine eq "getrf" && strcol(1) eq word(types, i) ? $2 : NaN):(($3 + $4) / 2):3:4 with yerrorbars \
            pointtype 6 linewidth 1.5 linecolor rgb colour[i] title (routine eq "getrf" ? word(types, i) . ", literature" : ""), \
        1 with lines dashtype 2 linecolor rgb 0x999999 notitle
}
