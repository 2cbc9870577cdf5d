# Drawings from the CSV of bench/products, beside it: NAME-n.svg (squares) and NAME-k.svg (updates of 8192 x 8192).
# usage: gnuplot -c products.gp NAME.csv
stem = ARG1[1:strlen(ARG1) - 4]
set datafile separator ","
set datafile missing NaN
set terminal svg noenhanced size 900,560 font "sans,13" background "white"
set logscale x 2
set xtics format "%.0f"
set ylabel "TFLOP/s, a multiply-accumulate counted as two operations"
set yrange [0:*]
set grid
set style data linespoints
set key outside right Left reverse samplen 3

modes = "native ozaki2 faithful"
array colour[3] = [0x000000, 0x0072b2, 0xd55e00]
pick(family, mode, column_name) = strcol("family") eq family && strcol("mode") eq mode ? column(column_name) : NaN
macro_curves = "for [i = 1:3] ARG1 using size:(pick(family, word(modes, i), 'TFLOP/s')) \
    linecolor rgb colour[i] linewidth 2 pointtype 7 title word(modes, i), \
    for [i = 1:3] ARG1 using size:(pick(family, word(modes, i), 'sustained')) \
    linecolor rgb colour[i] linewidth 1 dashtype 2 pointtype 6 title word(modes, i) . ', sustained'"
set macros

set output stem . "-n.svg"
set title "Products of N x N x N"
set xlabel "N"
family = "square"
size = "n"
plot @macro_curves

set output stem . "-k.svg"
set title "Updates: 8192 x 8192 x k, beta = 0"
set xlabel "k"
family = "update"
size = "k"
plot @macro_curves
set output
