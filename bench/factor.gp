# How many times as fast as cuSOLVER LU or QR is by order, from the CSV of bench/factor.py.
# usage: gnuplot -c factor.gp FOLDER: FOLDER/factor.csv becomes FOLDER/factor.svg
set datafile separator ","
set terminal svg noenhanced size 720,420 font "sans,13" background "white"
set output ARG1 . "/factor.svg"
set logscale x 2
set xrange [128:16384]
set yrange [0:3]
set grid
set key off
set xlabel "order of the matrix"
set ylabel "times cuSOLVER's speed"
plot 1 lc rgb 0x999999 dt 2, ARG1 . "/factor.csv" skip 1 using 1:($3 / $4) with linespoints \
    lw 2 pt 7 lc rgb 0x0072b2
