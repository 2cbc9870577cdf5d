# Drawings from the CSV of bench/multifloat, beside it: NAME-time.svg, -speed, -roofline, -df, -error.
# usage: gnuplot -c multifloat.gp NAME.csv
stem = ARG1[1:strlen(ARG1) - 4]
set datafile separator ","
set datafile missing NaN
set terminal svg noenhanced size 900,560 font "sans,13" background "white"
set logscale x 2
set xtics format "%.0f"
set xlabel "N"
set grid
set style data linespoints

types = "df ts dd d+s"
names = "DF TS DD D+S"
products = "typed drop-in paper"
of_products = "typed drop-in papers'"
array colour[4] = [0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7]

# What is drawn of a line: a number of the product of squares that is asked for, or nothing.
is(type, product) = strcol("type") eq type && strcol("product") eq product \
    && strcol("m") eq strcol("k") && strcol("m") eq strcol("n")
pick(type, product, number) = is(type, product) ? number : NaN
name_of(t, p) = word(names, t) . ", " . word(of_products, p)

# Curves of one number: products p to q of each type, and the native product.
macro_curves = "for [t = 1:4] for [p = first:last:step] ARG1 \
    using 'n':(pick(word(types, t), word(products, p), number(0))) \
    linecolor rgb colour[t] linewidth 2 dashtype p pointtype t title name_of(t, p)"
macro_native = "ARG1 using 'n':(pick('double', 'native', number(0))) \
    linecolor rgb 'black' linewidth 2 pointtype 8 title 'binary64, cuBLAS'"
set macros

set key outside right Left reverse samplen 3
set logscale y
first = 1; last = 3; step = 2

set output stem . "-time.svg"
set title "Time of an N x N x N product, operands of each type"
set ylabel "ms"
set format y "%g"
number(line) = column("ms")
plot @macro_curves, @macro_native

set output stem . "-speed.svg"
set title "Speed, a multiply-accumulate counted as two operations"
set ylabel "TFLOP/s"
number(line) = column("TFLOP/s")
plot @macro_curves, @macro_native

# err is drawn for the data that are timed.
set output stem . "-error.svg"
set title "Largest |C - exact| / (|A||B|), data (u-.5)exp(g/2)"
set ylabel "err"
set logscale y 2
set format y "2^%L"
number(line) = strcol("data") eq "(u-.5)exp(g/2)" ? column("err") : NaN
plot @macro_curves, @macro_native
unset logscale y

set output stem . "-roofline.svg"
set title "Share of each product's own roofline"
set ylabel "rate of instructions / ceiling, %"
set format y "%g"
set yrange [0:110]
first = 1; last = 2; step = 1
number(line) = 100 * column("of_roofline")
plot @macro_curves

# Efficiency as in the figures of the double-float paper, with what it states of them.
array of_df[3] = ["DF(DF)", "D(DF)", "DF(DF), papers'"]
$stated << END
2304,71.6
1536,89.0
END
set output stem . "-df.svg"
set title "DF: multiply-accumulates, in % of binary32 ceiling / 16"
set ylabel "%"
set yrange [0:*]
number(line) = 1600 * column("of_roofline") / column("instructions")
plot for [p = 1:3] ARG1 using 'n':(pick("df", word(products, p), number(0))) \
    linecolor rgb colour[p] linewidth 2 pointtype p \
    title of_df[p], \
    $stated every ::0::0 with points linecolor rgb colour[2] pointtype 7 pointsize 1.5 \
    title "D(DF), GTX 980, stated", \
    $stated every ::1::1 with points linecolor rgb colour[1] pointtype 7 pointsize 1.5 \
    title "DF(DF), GTX 980, stated"
set output
