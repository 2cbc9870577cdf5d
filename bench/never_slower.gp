# Heat map of one mode: kinds of data by shapes of call, coloured by the mode's time over native's.
# Cells of calls that ran natively are grey; of a cell the worst row that was emulated counts.
# usage: gnuplot -c never_slower.gp STEM MODE SHAPES KINDS, with STEM.cells: x,y,ratio,shape,kind
stem = ARG1
mode = ARG2
shapes = ARG3 + 0
kinds = ARG4 + 0
cells = stem . ".cells"
set datafile separator ","
set terminal svg noenhanced size 420 + 34 * shapes, 220 + 17 * kinds \
    font "sans,12" background "white"
set output stem . ".svg"
set title "time of " . mode . " / time of native, the worst emulated row of each cell; " . \
    "grey cells ran natively, empty ones have no row"
set xrange [-0.5:shapes - 0.5]
set yrange [kinds - 0.5:-0.5]
set xtics rotate by -90 scale 0
set ytics scale 0
# Blue gains, white is native's time, red loses; from 1.05 on it is plainly red.
set cbrange [0.4:1.6]
set palette defined (0.4 "#2166ac", 0.95 "#d1e5f0", 1.0 "#ffffff", 1.05 "#fddbc7", 1.15 "#ef8a62", \
    1.6 "#b2182b")
set style fill solid noborder
set key off
is_native(text) = text eq "native"
plot cells using ($1):($2):(0.5):(0.5):xtic(4):ytic(5) with boxxyerror fillcolor rgb "#dddddd", \
    "" using (is_native(strcol(3)) ? NaN : $1):2:(0.5):(0.5):3 with boxxyerror fillcolor palette, \
    "" using (is_native(strcol(3)) ? NaN : $1):2:(sprintf("%.2f", $3)) with labels font ",9"
