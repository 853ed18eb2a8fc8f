# The picture of docs/concepts.md, from the numbers beside it; in the root of the project:
#   gnuplot docs/data/concepts_square.gp
# The numbers are the first columns of
#   stair evolve square --alpha A --from both --precision 0.05 --csv          for each A
# and, at 0.5 and 1.12773206, those of `stair threshold square --precision 0.01`.  Hard is where the two starts
# differ: from 1 on, where the informed one stays, to the jump.
set terminal svg size 560,340 font "sans,12"
set output "docs/concepts-square.svg"
set datafile separator ","
file = "docs/data/concepts_square.csv"
set key at 0.32,0.9 left top reverse Left samplen 2
set xlabel "alpha: samples per dimension"
set ylabel "overlap Q with the teacher"
set xrange [0.3:1.25]
set yrange [-0.03:1.08]
set border 3
set tics nomirror out
set object 1 rectangle from 1.0,-0.03 to 1.1277,1.0 fillcolor rgb "#eeeeee" fillstyle solid noborder behind
set label "hard" at 1.064,0.08 center
set arrow from 0.5,0.32 to 0.5,0.02 lw 1
set label "weak recovery: 0.500" at 0.5,0.36 center
set arrow from 1.19,0.66 to 1.132,0.9 lw 1
set label "jump:\n1.128" at 1.2,0.6 center
plot file using (strcol("start") eq "uninformed" ? column("alpha") : NaN):"Q11" with linespoints pt 7 ps 0.5 lw 2 \
       lc rgb "#0060a0" title "from no knowledge: what message passing finds", \
     file using (strcol("start") eq "informed" ? column("alpha") : NaN):"Q11" with points pt 6 ps 1 lw 1.5 \
       lc rgb "#c04000" title "from full knowledge"
