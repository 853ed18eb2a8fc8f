#!/usr/bin/env bash
# Planted bugs: each change below is made alone in a copy of the tree, and the tests named beside it must
# fail.  A suite that does not notice them proves nothing.
#
#   tests/plant.sh [PATTERN]      those that would do most harm, or those whose names contain PATTERN
#   tests/plant.sh --applies      only whether all of them can still be planted: a second, nothing is built
#
# Those of plant_long run with a PATTERN or with STAIR_LONG=1: each costs a rebuild.  A test is a program of
# build/tests with its arguments, or cli:NAME for tests/cli/NAME.sh.
# Ends with 'N passed, 0 failed'; a bug passes when the suite catches it.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
pattern=${1:-} applies=
[ "$pattern" = --applies ] && applies=yes pattern=
work=$(mktemp -d "${TMPDIR:-/tmp}/stair-plant.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
tree=$work/tree build=$work/build
touch "$work/outcomes"

if [ -z "$applies" ]; then
    mkdir "$tree"
    (cd "$root" && tar cf - CMakeLists.txt LICENSE README.md include src cli bench tests data cmake figures web mpi) |
        tar xf - -C "$tree" || exit 1
    cmake -G Ninja -S "$tree" -B "$build" -DCMAKE_BUILD_TYPE=Release -DSTAIR_CUDA=OFF >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
fi

# build TESTS: the programs that TESTS, 'program arguments; program arguments', need
build() {
    ninja -C "$build" -j"${JOBS:-2}" $(tr ';' '\n' <<<"$1" | awk '{print $1 ~ /^cli:/ ? "stair_program" : $1}' | sort -u) >"$work/log" 2>&1
}

# run_tests TESTS FOLDER LOG: with programs in FOLDER; fails when one does
run_tests() {
    local command folder=$2 log=$3
    while IFS= read -r command; do
        command=${command#"${command%%[! ]*}"}
        [ -n "$command" ] || continue
        if [[ $command == cli:* ]]; then
            (cd "$tree" && timeout 300 bash "tests/cli/${command#cli:}.sh" "$folder/stair") >"$log" 2>&1 || return 1
            continue
        fi
        (cd "$tree" && set -f && timeout 120 "$folder"/tests/$command) >"$log" 2>&1 || return 1
    done < <(tr ';' '\n' <<<"$1")
}

say() { # NAME OUTCOME
    printf '%-52s %s\n' "$1" "$2"
    echo "$2" >>"$work/outcomes"
}

# judge NAME TESTS FOLDER: the tests of a bug that is built, and what they say of it
judge() {
    if run_tests "$2" "$3" "$3/log"; then
        say "$1" "FAILED: not noticed by $2"
    else
        say "$1" "caught by ${2%%;*}"
    fi
    rm -rf "$3"
}

# plant NAME FILE SED_EXPRESSION TESTS: the tests run on copies of their programs, while the next bug is built
plant() {
    local name=$1 file=$tree/$2 change=$3 tests=$4 folder program
    [[ $name == *"$pattern"* ]] || return 0
    if [ -n "$applies" ]; then
        sed -e "$change" "$root/$2" | cmp -s - "$root/$2" || { echo caught >>"$work/outcomes"; return 0; }
        say "$name" 'FAILED: the change no longer applies'
        return 0
    fi
    cp "$file" "$work/saved"
    sed -i -e "$change" "$file"
    if cmp -s "$file" "$work/saved"; then
        say "$name" 'FAILED: the change no longer applies'
    elif ! build "$tests"; then
        say "$name" 'FAILED: does not build'
        cat "$work/log"
    else
        folder=$(mktemp -d "$work/run.XXXXXX") && mkdir "$folder/tests" || exit 1
        for program in $(tr ';' '\n' <<<"$tests" | awk '{print $1 ~ /^cli:/ ? "stair" : "tests/" $1}' | sort -u); do
            cp "$build/$program" "$folder/$program"
        done
        [ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
        judge "$name" "$tests" "$folder" &
    fi
    cp "$work/saved" "$file"
}

plant_long() {
    if [ -n "$applies$pattern" ] || [ "${STAIR_LONG-}" = 1 ]; then plant "$@"; fi
}

closed=test_channel_closed_form
norm='test_channel_normalisation two_layers'
model=test_model_attention
skip4='test_channel_identities *layers=2,skip=4/V=0.01'
gamp=test_gamp_algorithm
general='test_channel_normalisation two_layers_negative_skip'
negative='test_channel_identities *layers=2,skip=-2.5/V=0.01'
rules='test_channel_rules layered_and_lattice'
mapped='test_channel_identities_sampled *layers=2,tokens=3/*'

pair='test_asymptotics_pair identities*'
averages='test_asymptotics_threshold grid*'
hidden='test_asymptotics_threshold hidden*'

checkpoint=cli:test_checkpoint
hostile=cli:test_hostile
plugin=cli:test_plugin

# The tests must pass where nothing is planted, or their failures say nothing.
baseline="$closed; $norm; $general; $negative; $model; $skip4; test_lanes_v2; $gamp; $mapped; $rules; $pair"
baseline+="; $averages; $hidden; test_gamp_tiles; test_parallel; test_channel_rules rules_for_noise_on_y"
baseline+="; test_asymptotics_threshold whole_staircase_of_two_layers; test_reported; test_atomic_file; test_rng; $checkpoint"
[ "${STAIR_LONG-}" = 1 ] && baseline+="; $hostile"
[ -n "${PLANT_NO_BASELINE-}$applies" ] && baseline=
if [ -n "$baseline" ] && ! { build "$baseline" && run_tests "$baseline" "$build" "$work/log"; }; then
    cat "$work/log"
    echo "0 passed, 1 failed: the tests fail without any planted bug"
    exit 1
fi

hot=src/model/attention_hot.c
lanes=src/model/attention_lanes.h
plant 'no |det H| in the density'               $hot 's|density \*= inverse;|density *= inverse / inverse;|' "$general"
plant_long '|det H| to the wrong power'              $hot 's|density \*= inverse;|density *= inverse * inverse;|' "$general"
plant 'H transposed in the fibre'               $lanes 's|if (a->literal)$|if (!a->literal)|' "$negative"
plant 'H transposed in the forward map'         src/model/attention.c 's|a->literal ? s\[j \* m + i\] : s\[i \* m + j\]|a->literal ? s[i * m + j] : s[j * m + i]|' "$model"
plant_long 'skip ignored in the fibre'               $lanes 's|b\[i \* (m + 1)\] += a->skip;|b[i * (m + 1)] += 1.0;|' "$negative"
plant_long 'skip with the wrong sign in the fibre'   $lanes 's|b\[i \* (m + 1)\] += a->skip;|b[i * (m + 1)] -= a->skip;|' "$general"
plant_long 'two tokens: no |det H| in the density'   $hot 's|lanes_store(weight + at, over_det);|lanes_store(weight + at, over_det / over_det);|' "$norm"
plant_long 'two tokens: H transposed'                $hot 's|(a->literal ? o2 : o1)|(a->literal ? o1 : o2)|; s|(a->literal ? o1 : o2) \* h\[0\]|(a->literal ? o2 : o1) * h[0]|' "$skip4"
plant_long 'two tokens: skip ignored'                $hot 's|const double k = a->skip + 1,|const double k = 2,|' "$skip4"
plant 'a pass that trusts itself too soon'      src/channel/passes.c 's|return alias;|return 1e-6 * alias;|' "$rules"
plant 'a ridge of 1e-3 on V'                    src/channel/moments.c 's|(i == j ? prenoise : 0);|(i == j ? prenoise + 1e-3 : 0);|' "$closed"
plant 'a branch of the +- fibre lost'           src/model/attention_fibre.c 's|fibre->mirrored = rank % 2;|fibre->mirrored = false;|' "$closed"
plant 'signs of a finite fibre lost'            src/channel/exact.c '/^static stair_rule_result evaluate/,/^}/s|f->chart < f->fibre.charts|f->chart < 1|' 'test_model_square square:tokens=2'
plant_long 'differences of a link to one side'       src/model/link.c 's|below = z\[i\] - step|below = z[i]|' test_model_link
plant_long 'a line that ends where one side does'    src/channel/lattice.c 's|dim == 1 ? tuning.on_line : tuning.quiet|tuning.quiet|' 'test_model_square noise_leaves_a_shoulder'
plant_long 'g without V^-1'                          src/channel/moments.c 's|unwhiten(f, mean, out->g);|for (int i = 0; i < size; i++) out->g[i] = mean[i];|' "$closed"
plant_long 'a formula from the farther of two points' src/model/two_points.c 's|dot < 0 ? -1 : 1|dot < 0 ? 1 : -1|' "$closed"
plant_long 'a formula that is used only when forced'  src/channel/closed.c 's/(forced || closed->preferred || !model->ops->fibre_open)/forced/' test_model_contract
plant_long 'dg without -V^-1'                        src/channel/moments.c 's|\* (sum\[1 + j\] / mass) - (i == j);|* (sum[1 + j] / mass);|' "$closed"
plant_long 'second moment not centred'               src/channel/moments.c 's|second\[k\] / mass - (sum\[1 + i\] / mass) \* (sum\[1 + j\] / mass)|second[k] / mass|' "$norm"
plant_long 'log Z without the determinant of V'      src/channel/moments.c 's|- f->shape.tokens \* f->half_logdet -|-|' "$closed"
plant_long 'a map that hides what it should show'        src/channel/lattice.c 's|w->map.top - cutoff - tuning.blur|w->map.top - 0.4 * cutoff|' "$mapped"
plant_long 'a head with half its density'            src/model/attention_fibre.c 's|for (int k = 1; k < rows; k++) weight|for (int k = 2; k < rows; k++) weight|' "$rules"
plant_long 'tails cut off too early'                 src/channel/layered.c 's|2 \* stair_passes_left(plan->passes, head->energy)|0.7 * stair_passes_left(plan->passes, head->energy)|' "$rules"
plant 'the mirrored tail counted twice'         src/channel/layered_hot.c 's|kept\[1\], -1, \*top, acc|kept[1], 1, *top, acc|' "$rules"
plant_long 'softmax over the wrong token'            $lanes 's|s\[3\] - s\[2\]|s[0] - s[1]|' "$negative"
plant 'a check that cannot fail counts as passed' src/channel/diagnose.h 's|define STAIR_RESOLVED 0.1|define STAIR_RESOLVED 100|' test_channel_verdicts
plant_long 'violations lost among points that tell nothing' src/channel/diagnose.c 's#if (broken(&f->resolved) || broken(&f->open))#if (share >= 0.5 \&\& broken(\&f->resolved))#' test_channel_verdicts
plant 'the gradient forgets a side of h h^T'    src/model/attention_batch_hot.c 's|(grad_a\[i \* m + j\] + grad_a\[j \* m + i\])|(2.0 * grad_a[i * m + j])|' "$model"
plant 'untied: the scale of keys without its density' src/model/untied_hot.c 's|k < i + unseen; k++) density|k < i + 2 * unseen; k++) density|' 'test_untied measure/*layers=1,tokens=2'
plant_long 'untied: |det H| once, not for query and key' src/model/untied_hot.c 's|for (int k = 0; k < 2 \* p; k++) density \*= inverse;|for (int k = 0; k < p; k++) density *= inverse;|' 'test_untied measure/*skip=*'
plant_long 'untied: the mean key without its density' src/model/untied_hot.c 's|k < p \&\& layers > 1; k++) density \*= factor|k < 0; k++) density *= factor|' 'test_untied measure/*literal'
plant_long 'untied: queries beside the keys of no density' src/model/untied_fibre.c 's|for (int i = 0; i < m; i++) density /= fabs|for (int i = 1; i < m; i++) density /= fabs|' 'test_untied measure/*tokens=2,rank=2'
plant_long 'untied: the gradient of the wrong side'  src/model/attention_batch_hot.c 's|transposed ? j \* m + i : i \* m + j|transposed ? i * m + j : i * m + j|' "test_untied attention:weights=untied,layers=1,tokens=3,rank=2"
plant_long 'untied: a formula that forgets the mean key' src/model/untied_ignorant.c 's|= (m - 1) \* (m - 1);|= m * m - 1;|' 'test_untied formula_agrees_with_samples'
plant_long 'noise: rows in the order of the fibre'     src/model/fibre.c 's|return (size_t)model->order.k / m. \* m + k % m;|return k + 0 * m;|' 'test_untied noise_finds_its_rows'
plant 'committee: no det B in the density'         src/posterior/exchange.c 's|/ (x->whole \* det);|/ x->whole;|' 'test_exchange posteriors_are_those_of_the_channel'
plant_long 'committee: a hidden row of another sign'        src/posterior/exchange.c 's|at\[1\] = at\[pm\] = 0.5 \* (ss - dd);|at[1] = at[pm] = 0.5 * (dd - ss);|' 'test_exchange posteriors*'
plant_long 'committee: the law between nodes of no density' src/posterior/exchange.c 's|(x->share \* x->share \* d \* d)|(x->share * x->share * fabs(d))|' 'test_exchange both_ways*'
plant_long 'committee: one layer too many in the law'   src/posterior/committee_law.c 's|job->n - 1),|job->n),|' 'test_exchange law_agrees_with_draws'
plant 'exp one term short'                      src/core/lanes.h 's|p = p \* r + 1.0 / 3628800.0;|p = p * r;|' test_lanes_v2
plant 'hidden means that are not taken off'     src/average/hidden_means.c 's|sums\[0\] - mean\[|sums[0] - 0.9 * mean[|' "$averages"
plant_long 'nodes drawn wider and not weighted back' src/average/hidden_means.c 's|0.5 \* u \* u \* (1 / wide - 1 / v)|0.5 * u * u * (0.9 / wide - 1 / v)|' "$averages"
plant_long 'hidden means of the wrong spread'        src/average/hidden_means.c 's|h->share\[j\] \*= exp(-0.5 |h->share[j] *= exp(-0.4 |' "$averages"
plant 'nodes that follow, bent the wrong way'   src/posterior/one_row_hot.c 's|give_way(dim, soft, f->bend, 1, x);|give_way(dim, soft, f->bend, -1, x);|' "$hidden"
plant_long 'a hidden row that forgets its sign'      src/posterior/one_row_hot.c 's|lanes_pick(along < 0, -side, side)|side|' "$hidden"
plant_long 'nodes that follow, of the wrong density' src/posterior/one_row_follow.c 's|half_logdet - dim|0.5 * half_logdet - dim|' "$hidden"
plant 'two last rows: labels without their Jacobian' src/posterior/two_rows.c 's|h->common \* fabs(x\[0\] - x\[1\]) / h->weight|h->common * (1 + 0 * x[0]) / h->weight|' "$pair"
plant_long 'two hidden rows: shapes without their Jacobian' src/posterior/hidden_nodes.c 's|gap_step \* gap / (1|gap_step / (1|' "$pair"
plant_long 'two last rows: v with the wrong variance' src/posterior/two_rows.c 's|level \* level + 0.5 \* h->variance|level * level + h->variance|' "$pair"
plant_long 'too few directions of the frame'         src/posterior/two_rows.c 's|resolved = 1.75|resolved = 0.3|; s|few = 3.0|few = 1.0|' "$pair"

plant_long 'the lattice with any noise on y'         src/channel/lattice.c 's|stair_rule_noise(f) >= tuning.noise|stair_rule_noise(f) > 0|' 'test_channel_rules rules_for_noise_on_y'
plant 'a step whose overlap has no error'        src/asymptotics/staircase.c 's|(part - step->overlap\[i\]) \* c.v_error|0 * c.v_error|' 'test_asymptotics_threshold whole_staircase_of_two_layers'
plant_long 'nested lines in no direction, noise on y'  src/model/fibre.c 's|direction\[0\] = 1;|direction[0] = 0;|' 'test_channel_rules rules_for_noise_on_y'
plant_long 'products added to what was there before'   src/core/products.c 's|sum->begun = false;|sum->begun = true;|' test_gamp_tiles
plant_long 'a thread that is done and does not help'   src/core/parallel.c 's|t < shared->width; t++|t < 1; t++|' test_parallel
plant_long 'pool: a fork waits for threads that it has not' src/core/pool.c 's|pool->process != stair_process()|false|' test_parallel
plant_long 'pool: work that is not waited for'     src/core/pool.c 's|if (!is_idle(pool) \&\& !watch(pool, NULL)) {|if (0) {|' test_parallel
plant_long 'blocks that do not follow their neighbours' src/core/parallel.c 's|% shared->width\], t == 0, block|% shared->width], t > 0, block|' test_parallel
plant 'blocks added in the order they come'     src/core/reduce.c '/^void stair_sum_combine/,/^}/{s|step \*= 2|step++|;s|u + step < units; u += 2 \* step|u < 1; u++|}' test_reduce
plant_long 'a part whose last half is lost'          src/core/reduce.c 's|add(job->sum->size, right, out);||' 'test_gamp_blocks; test_reduce'
plant_long 'a quota that is looked for in one place' src/core/cores.c 's|if (!slash) return least;|return least;|' test_cores
plant 'GAMP without the Onsager term'           src/gamp/pass.c 's|omega\[i \* cells + k\] -= o;|omega[i * cells + k] -= 0 * o;|' $gamp
plant_long 'GAMP with g^t in place of g^(t-1)'       src/gamp/pass.c 's|s->variant == STAIR_GAMP_PRINTED_ONSAGER|s->variant != STAIR_GAMP_PRINTED_ONSAGER|; s|if (s->variant != STAIR_GAMP_PRINTED_ONSAGER) omega|if (s->variant == STAIR_GAMP_PRINTED_ONSAGER) omega|' $gamp
plant_long 'an Onsager term that forgets damping'    src/gamp/pass.c 's|(1 - s->damping) \* now\[k\] + s->damping \* s->o\[at + k\]|now[k]|' $gamp
plant 'GAMP without A W in b'                   src/gamp/step.c 's|column\[i\] += s->a\[i \* p + k\]|column[i] += 0 * s->a[i * p + k]|' $gamp
plant_long 'the printed update with side information' src/gamp/step.c 's|bool printed = .*;|bool printed = true;|' $gamp
plant_long 'side information without the square root' src/gamp/problem.c 's|+= sqrt(lambda) \* problem->teacher|+= lambda * problem->teacher|' $gamp

honest=test_asymptotics_honest
plant 'few replicates counted like many'         src/core/stats.c 's|return n > 1 ? stair_student(n) \* sqrt|return n > 1 ? sqrt|' test_stats
plant_long 'a common part that is forgotten'            src/model/attention_fibre.c 's|excess\[i\] -= mean;|excess[i] -= 0;|' 'test_model_attention tokens*'
plant_long 'a flat direction that is dropped'           src/model/attention_fibre.c 's|^            flat_direction(.*|            ;|' 'test_model_attention tokens*'
plant_long 'noise in common that is no variance'        src/average/controls.c 's|tuning.common \* tuning.common|0|' test_stats
plant 'rounding that counts as a control'        src/average/controls.c 's|tuning.least_spread \* tuning.least_spread|1e-60|' test_stats
plant_long 'a curve that trusts its last node beyond it' src/asymptotics/curve.c 's|return 2 \* x / end_of(c) - 1;|return 2 * fmin(x, c->x_to) / c->x_to - 1;|; s|furthest = 0.05|furthest = 0.5|' "$honest curve_beyond_its_last_node"
plant 'Newton on a grid, and nothing left of it'   src/asymptotics/solve.c 's|linear = 1.0|linear = 100.0|; s|point->doubt = (average->random|point->doubt = 0 * (average->random|; s|^ *point->residual;$|0;|' "$honest curve_beyond_its_last_node"
plant_long 'a curve that leaves out what folds'       src/asymptotics/curve.c 's|if (scale < -tuning.doubt \* node\[i\].error) return false;||' "$honest no_curve_over_a_jump"
plant_long 'the top of a fold where the walk saw it'  src/asymptotics/staircase.c 's|for (int k = 0, more = 0; k < tuning.attempts; k++) {|found = true; *error = 1e-5; for (int k = 0, more = 0; k < 0; k++) {|' "$honest no_curve_over_a_jump"
plant_long 'only one side of a jump'                  src/asymptotics/evolve.c 's|if (alpha <= limit.alpha) return STAIR_OK;|if (alpha > 0) return STAIR_OK;|' "$honest either_side_of_a_jump"
plant_long 'overlaps that are small and known well'   src/asymptotics/solve.c 's#return moved > tuning.most_stale || gain > tuning.most_gain;#return moved > 1e9 \&\& gain > 1e9;#' "$honest small_overlaps"
plant_long 'slopes too steep, and trusted'           src/asymptotics/crossing.c 's|c->slope = height / xx;|c->slope = 3 * height / xx;|; s|slope_error = 0.3|slope_error = 0.0|' "$honest third_step_of_three_layers"
plant_long 'a missed precision that is not said'      src/asymptotics/staircase.c 's|step->error > s->options->precision \* step->alpha|step->error > 1e9|' "$honest two_replicates"
plant_long 'zero is no sign of what only jumps'        src/model/expr_interval.c 's#x->flat || x->rests$#x->rests#' test_model_expr
plant_long 'panels that are kept leave nothing open'   src/channel/lines_outer.c 's|s->open += away;|s->open += 0 * away;|' test_model_expr
plant 'roots of a line without their slope'       src/channel/lines_levels.c 's|log(slope \* sd)|log(sd)|' test_model_expr
plant_long 'a sphere without its variance'             src/model/formula_closed.c 's|.along = less \* (1 + ratio)|.along = less * ratio|' test_model_expr
plant_long 'a plug-in that others may write to'    src/plugin/file.c 's/S_IWGRP | S_IWOTH/S_ISVTX/' $plugin
plant_long 'a library cut off'                     src/plugin/file.c 's|size - segment.p_offset < segment.p_filesz|size < segment.p_filesz|' $plugin
plant_long 'a plug-in of another version'          src/plugin/plugin.c 's|table->version != STAIR_PLUGIN_VERSION|table->version == 0|' $plugin
plant_long 'a function that need not repeat'       src/plugin/plugin.c 's|repeats = !memcmp|repeats = 1 \|\| !memcmp|' $plugin
plant_long 'outputs beside y'                      src/plugin/plugin.c 's|room\[k\] != -1234.5 - k|room[k] == 0.25|' $plugin
plant_long 'identities that are not looked at'     src/plugin/plugin.c 's|return check_identities(context, path, model);|return STAIR_OK;|' $plugin
plant_long 'a sign of what is not defined'         src/model/expr_program.c 's|-1 : a + 0.0;|-1 : 0;|' test_model_expr
plant_long 'a fold that is passed in silence'      src/asymptotics/staircase.c 's|if (was \&\& !s->jumping \&\& !(now.height > 0)) STAIR_TRY|if (0) STAIR_TRY|' 'test_zoo a_fold*'
plant_long 'a spinodal at the landing of its jump' src/asymptotics/staircase.c 's|double middle = log(s->top.v), doubt|double middle = log(s->top.v) - 2, doubt|' 'test_zoo a_fold*'
plant_long 'an information threshold beyond its probe'  src/asymptotics/hard.c 's/at.alpha - move/at.alpha + move/' 'test_asymptotics_phases *committee*'
plant_long 'the full rule may not let go'            src/asymptotics/solve.c 's/ || learns_others(b, target, point) ||$/ ||/' 'test_asymptotics_phases *committee*'
plant_long 'information that is as late as message passing' src/asymptotics/hard.c 's|out->information = limit.alpha;|out->information = out->algorithmic;|' 'test_zoo phase_retrieval*'
plant_long 'leaps counted in what is known, too'       src/asymptotics/exponents.c 's|if (!(known >> (c / s->m) & 1)) degree|if (!(known >> (c / s->m) \& 1) \|\| 1) degree|' test_exponents
plant_long 'strengths that noise adds to'              src/asymptotics/exponents.c 's|(2 \* r + 1) \* s->terms|(2 * r) * s->terms|' test_exponents
plant_long 'a rotation sampled alike for all labels'   src/channel/sampling.c 's|M_SQRT1_2) + shift;|M_SQRT1_2) + 0 * shift;|' 'test_channel_rules halves_are_independent'
plant_long 'halves that share their nodes'            src/channel/sampling.c 's|from = half \* (replicates / 2)|from = 0 * half|' 'test_channel_rules halves_are_independent'
plant 'prediction errors of an exact overlap'    src/asymptotics/errors.c 's|most > 0; way++|most > 2; way++|' "$honest errors_know_the_error_of_the_overlap"
plant_long 'more than two dimensions, cut as in two'  src/channel/moments.c 's|f->dim > 2 ? 1 + cutoff + 0.5 \* cutoff \* cutoff : tuning.shell|tuning.shell|' 'test_channel_rules tails_of_four_dimensions'
plant_long 'an entropy of an average that is not there' src/asymptotics/entropy.c 's|status = stair_average_create(context, structure, 0, effort.replicates, &at);|status = (stair_average_create(context, structure, 0, effort.replicates, \&at), STAIR_OK);|' test_asymptotics_memory
plant_long 'a goal out of reach, and no other tried'  src/channel/lattice.c 's/if (result.converged || !isfinite(result.error)/if (result.error >= 0 || !isfinite(result.error)/' 'test_channel_rules more_precision*'
plant_long 'an excluded end of an option allowed'      src/core/options.c 's|option->below ? value < option->high : value <= option->high|value <= option->high|' test_option_tables
plant_long 'NaN in the range of an option'             src/core/options.c 's|if (high_enough && low_enough)|if (isnan(value) ? true : high_enough \&\& low_enough)|' test_option_tables
plant_long 'a refused value of an option kept'         src/core/options.c '/^static stair_status set_real/,/^}/s|double value;|double value = *field = strtod(text, NULL);|' test_option_tables
plant_long 'an option in the field of another'         src/gamp/options.c 's|ROW("perfect", DOUBLE, perfect)|ROW("perfect", DOUBLE, tolerance)|' test_option_tables
plant_long 'a default of an option lost'               cli/commands.c 's|if (command->defaults)|if (command->defaults \&\& options->points)|' test_options
plant_long 'a list option behind one number'           cli/options.c 's|own->many == OPTION_LIST)|false)|' test_options

plant_long 'a fixed point above taken for one below'   src/asymptotics/sweep.c 's|s->before_alpha <= point->alpha|s->before_alpha >= 0|' 'test_asymptotics_sweep a_falling_list*'
plant_long 'a sweep that forgets what it was told'     src/asymptotics/sweep.c '/^stair_status stair_sweep_known/,/^}/s|finish(sweep, point);|sweep->next++;|' 'test_asymptotics_sweep resumed*'
plant 'full knowledge that is never Bayes'        src/asymptotics/phases.c 's|if (job->same\[s\] == s &&$|if (s != 1 \&\& job->same[s] == s \&\&|' 'test_asymptotics_phases phase_retrieval*'
plant_long 'perfect recovery too soon in a figure'      src/asymptotics/staircase_curve.c 's|alpha >= last->alpha;|alpha >= 0.7 * last->alpha;|' 'test_asymptotics_sweep staircase_curve*'
plant_long 'a z-score against exactly nothing'         src/gamp/compare.c 's|q == 0 && q_error == 0 ? NAN : z_score|z_score|' 'test_gamp_compare z_scores*'
plant_long 'the fixed point beside runs from an overlap' src/gamp/compare.c 's|options->start_overlap > 0 ? STAIR_THEORY_TRAJECTORY|options->start_overlap > 1 ? STAIR_THEORY_TRAJECTORY|' 'test_gamp_compare theory_follows*'

plant 'heads scored without 1/H'                  src/model/heads.c 's|.scale = 1 / sqrt(heads)|.scale = 1|' 'test_model_heads labels*'
plant_long 'a readout that reads another head'         src/model/heads_batch_hot.c 's|zed(z, m, a->value + h \* a->outputs + o, j)|zed(z, m, a->value + o, j)|' 'test_model_heads losses*'
plant_long 'samples of one block counted for all'      src/asymptotics/branch.c 's|f\[i\] \*= b->model->blocks|f[i] *= b->model->blocks > 0|' 'test_blocks overlap*'
plant_long 'an entropy per dimension of a block'       src/asymptotics/entropy.c 's|return sum / model->blocks;|return sum;|' 'test_blocks entropy*'
plant_long 'overlaps between blocks in GAMP'           src/gamp/pass.c '/stair_blocks_keep_pairs(s->model, s->a)/d' 'test_blocks gamp_on*'
plant_long 'b outside of the blocks of its rows'       src/gamp/pass.c '/stair_blocks_keep(s->model, s->dim, all.b)/d' 'test_blocks gamp_on*'
plant_long 'a head whose rows flip one by one'         src/gamp/measure.c 's|s->symmetry.sign\[j\] == s->symmetry.sign\[i\]|j == i|' 'test_blocks alignment_knows*'
plant_long 'a readout integrated out without its noise' src/model/marginal_hot.c 's|lanes_set(k == j ? s->noise : 0)|lanes_set(k == j ? 1e-9 : 0)|' 'test_model_marginal agrees*'
plant_long 'a covariance about a mean that vanishes'   src/channel/ignorance.c 's|out->dg\[k \* size + l\] += out->g|out->dg[k * size + l] += 0 * out->g|' 'test_channel_rules ignorance*'
plant_long 'angles left out, and what they add up to'   src/channel/ignorance.c 's|f->log_angles += log|f->log_angles += 0 * log|' 'test_channel_rules ignorance*'
plant_long 'a tube around h that forgets its mixing'    src/model/attention_hot.c '/^void STAIR_HOT(stair_attention_tube)/,/^}/s|for (int k = 0; k < p; k++) density \*= inverse;||' 'test_channel_rules tubes*'
plant 'data that end their own element'           cli/page_write.c "s|if (text\[i\] == '<')|if (text[i] == 1)|" 'test_page text_stays_text'
plant_long 'markup in a title'                         cli/page_write.c 's|fputs("&lt;", to)|fputs("<", to)|' 'test_page text_stays_text'
plant_long 'a command line that is not quoted'         cli/page_line.c 's|strspn(text, safe) == strlen(text)|strspn(text, safe) > 0|' 'test_page lines_can*'
plant_long 'error bars of nothing'                     cli/page_plots.c 's|"%s_error", name|"%s_spread", name|' 'test_page plots_follow*'
plant_long 'pages without a limit'                     cli/page_table.c 's|if (cells > \*table->room_left) return|if (cells > *table->room_left + 1000) return|' 'test_page pages_have*'

# numbers beside the main ones, and what is kept on disk
plant_long 'an entropy without error'                  src/asymptotics/entropy.c 's|\*error \*= alpha;|*error = 0;|' 'test_reported entropies*'
plant_long 'a Bayes error without error'               src/asymptotics/errors.c 's|errors->bayes_error = stair_replicate_error(n, job->place\[0\].bayes);|errors->bayes_error = 0;|' 'test_reported errors*'
plant_long 'prediction errors without prenoise'        src/asymptotics/errors.c 's|1 + job->model->info.prenoise : 0|1 : 0|' 'test_reported errors*'
plant_long 'the error of the weights by a norm'        src/asymptotics/errors.c 's|.weights = 1 - norm / p}|.weights = 1 - sqrt(norm) / p}|' 'test_reported errors*'
plant_long 'a change of weights squared'               src/gamp/step.c 's|\*change = sqrt(moved / |*change = (moved / |' 'test_reported change*'
plant 'the last batch is never used'              src/train/sgd.c 's|per_epoch = (count + size - 1) / size;|per_epoch = count / size;|' 'test_reported every*'
plant 'a shuffle that prefers some orders'        src/core/rng.c 's|(uint32_t)(u\[0\] \* i), swap|(uint32_t)(u[0] * n), swap|' test_rng
plant 'similarity of the other Gram matrix'       src/train/train_similarity.c 's|scale > 0 ? rows_product(rank, dim, w, end)|scale > 0 ? columns_product(rank, dim, w, end)|' 'test_reported similarity*'
plant 'a checkpoint continued with other data'    src/gamp/fit.c 's|if (options->checkpoint) /|if (options->dim < 0) /|' $checkpoint
plant 'a grid that goes on with another list'     cli/grid.c 's|list->count \* sizeof \*list->values|0 * list->count|' $checkpoint
plant 'files that are not synchronised'           src/io/atomic_file.c 's|fflush(out->file) == 0 \&\& fsync(fileno(out->file)) == 0;|fflush(out->file) == 0;|' test_atomic_file

plant_long 'a training state that cannot be'      src/train/train_step.c 's|if (!put \&\& !sound(t))|if (!put \&\& !sound(t) \&\& t->steps < 0)|' $checkpoint
plant_long 'a descent that cannot be'             src/train/sgd.c 's#!sound(d) |#(!sound(d) \&\& d->batch < -5) |#' $checkpoint
plant_long 'more records than iterations'         src/gamp/run.c 's|count <= s->options->max_iterations + 1|count <= 2147483647|' $checkpoint
plant_long 'a stop that is none'                  cli/cmd_evolve.c 's|grid_whole(head->stop, 0, STAIR_STOPS - 1)|head->stop >= 0|' $checkpoint
plant_long 'another instruction set goes on'      src/io/checkpoint.c 's|stair_isa_name()|"any"|' $checkpoint
plant_long 'a folder that is looked at too late'  src/io/checkpoint.c 's|stair_status status = stair_atomic_probe(context, name);|stair_status status = STAIR_OK;|' $checkpoint
plant_long 'a batch system that is not heard'     cli/progress.c 's|SIGHUP, SIGUSR1|SIGHUP|' $checkpoint
plant_long 'files of others swept away'           src/io/atomic_file.c 's|if (flock(fd, LOCK_EX . LOCK_NB) == 0) unlinkat|unlinkat|' $checkpoint
plant_long 'classes without names'                src/train/classifier_io.c 's|count_names(c->names) != c->classes|count_names(c->names) < 0|' $hostile
plant_long 'gigabytes out of a small file'        src/io/npz_read.c 's|if (room > most)|if (room > 1000 * most)|' $hostile
plant_long 'escapes on a terminal'                cli/plain.c "s|length \&\& character >= ' '|length|" $hostile
plant_long 'logits that add up to anything'       src/model/fibre.c 's|fabs(sum - 1) > sum_error|sum > 1e9|' $hostile
plant_long 'seeds below zero'                     cli/report_csv.c 's|PRIu64, value->natural|PRId64, value->integer|' $hostile
plant_long 'a closed output that takes it all'    cli/program.c 's|fd == 2 ? O_WRONLY : O_RDONLY|O_WRONLY|' $hostile

plant_long 'ranks: a unit of a sum that nobody adds'  src/core/reduce.c 's|size_t first = s.cut\[rank\], last = s.cut\[rank + 1\];|size_t first = s.cut[rank] + (rank > 0), last = s.cut[rank + 1];|' 'test_ranks sums*'
plant_long 'ranks: stretches in another order'        src/core/reduce.c 's|roots + s->place\[u + step\] \* size, roots + s->place\[u\] \* size|roots + s->place[u] * size, roots + s->place[u + step] * size|' 'test_ranks sums*'
plant_long 'ranks: blocks of the wrong rank'          src/core/ranks.c 's|stair_parallel_range(context, cut\[rank\], cut\[rank + 1\]|stair_parallel_range(context, cut[size - 1 - rank], cut[size - rank]|' 'test_ranks blocks*'
plant_long 'ranks: one that fails is not heard'       src/core/ranks.c 's|!= STAIR_OK \&\& first < 0) first = r;|!= STAIR_OK \&\& first < 0 \&\& r < 2) first = r;|' 'test_ranks all_fail*'
plant_long 'ranks: points that stay where they are'   src/core/share.c 's|job->mine\[k\] = 1;|job->mine[k] = 0;|' 'test_ranks points*'
plant_long 'ranks: samples drawn in another place'    src/gamp/tiles.c 's|sample = tiles->first + first + i;|sample = tiles->first + first + i - (tiles->x ? 0 : tiles->held);|; s|(lo - job->held) \* sample|(lo - job->held + (job->held > 0)) * sample|' 'test_ranks gamp*'
plant_long 'merge: lists of the first file alone'     cli/cmd_merge.c 's|for (int p = 0; p < job->count; p++) {$|for (int p = 0; p < 1; p++) {|' cli:test_merge
plant      'card: u near 1 from its rounded bits'        src/kernels/normals.h 's|return upper ? p \* v : lower|return lower|' test_kernels_normals
plant_long 'card: sine of the wrong quadrant'            src/kernels/normals.h 's|(quarter + 0x40000000u) \& |quarter \& |' test_kernels_normals
plant_long 'card: draws half begun with another key'     src/kernels/normals.h 's|half.b ^= (uint32_t)(key >> 32) + |half.b ^= (uint32_t)key + |' test_kernels_normals
plant_long 'card: words of another key'                  src/kernels/normals.h 's|k1 += 0xBB67AE85u|k1 += 0xBB67AE84u|' test_kernels_normals
plant      'card: sums of the wrong sign of the last row'   src/kernels/one_row.h 's|acc\[1\] += plus \* p0 + minus \* m0|acc[1] += plus * p0 - minus * m0|' test_kernels_average
plant_long 'card: hidden layers undone in the wrong order'  src/kernels/mixing.h 's|for (int l = rows - 1; l >= 0; l--) {|for (int l = 0; l < rows; l++) {|' test_kernels_average
plant_long 'card: a window short on one side'               src/kernels/one_row.h 's|(mean + reach - g->low) / (4 \* g->step)|(mean + 0.6 * reach - g->low) / (4 * g->step)|' test_kernels_average
plant      'card: means in single precision alone'          src/kernels/means.h 's|(node\[0\] - high\[0\]) - low\[0\]|node[0] - high[0] - 1e-3f|' test_kernels_average
plant_long 'card: residuals of one sign of labels'          src/kernels/means.h 's|plus \* p1 + minus \* m1|plus * p1 + minus * p1|' test_kernels_average
plant_long 'card: followers that forget mirrors'            src/kernels/follow.h 's|mirror < 1 << rows|mirror < rows|' test_kernels_average
plant_long 'card: followers that give way the other way'    src/kernels/follow.h 's|f->bend, -1, x)|f->bend, 1, x)|' test_kernels_average
plant_long 'card: nodes of another level'                   src/kernels/follow.h 's|!(apart < limit); limit|!(apart > limit); limit|' test_kernels_average
plant_long 'phases: coarse ones are one'                 src/asymptotics/phases.c 's|, .apart = 0.05|, .apart = 5|' 'test_asymptotics_phases coarse*'
plant_long 'device: a number that is none'               src/core/backend.c 's/if (!digits || digits > 4/if (digits > 4/' test_backend
plant      'card: a node without its determinant'        src/kernels/pair.h 's|n->weight = both \* over;|n->weight = 1;|' 'test_kernels_pair lattice*'
plant_long 'card: even nodes twice'                      src/kernels/pair.h 's|((column + lane) \& 1)|(lane \& 1)|' 'test_kernels_pair lattice*'
plant_long 'card: a box that is cut'                     src/kernels/pair.h 's|(float)first\[k\] - 1.5f|(float)first[k] + 2.5f|' 'test_kernels_pair lattice*'
plant_long 'card: one sign alone'                        src/kernels/pair.h 's|float both = up + down;|float both = up;|' 'test_kernels_pair lattice*'
plant_long 'card: an error that forgets covariances'  src/kernels/pair.h 's|float d = a\[t\]\[2 + k\] - b\[t\]\[2 + k\]|float d = 0 * b[t][2 + k]|' 'test_kernels_pair error*'
plant_long 'card: a team that sees a slice of it'        src/kernels/pair.h 's/visible\[0\] <<= slice \* count;/visible[0] <<= slice;/' 'test_kernels_pair lattice*'
plant_long 'card: hard samples are not added'            src/cuda/pass.c 's|return stair_card_collect_some(context, r->device, rows, count,|return stair_card_collect_some(context, r->device, rows, 0 * count,|' 'test_cuda_host x_is*'
plant_long 'card: X is read once whatever it costs'      src/cuda/pass.c 's|r->once = false;$|r->once = true;|' 'test_cuda_host x_is*'
plant_long 'card: slabs that leave a gap'                src/kernels/once.h 's|(b < groups % blocks ? b : groups % blocks)|0|' 'test_cuda_host x_is*'
plant      'card: memory of the wrong step'              src/kernels/memory.h 's|(1 - f->damping) \* now|now|' test_cuda_host
plant_long 'card: a token of another sample'             src/kernels/rows.h 's|(uint64_t)t \* (uint64_t)dim + column|(uint64_t)t + column|' test_cuda_host
plant_long 'card: a slice that loses a row'              src/kernels/rows.h 's|rows / slices \* s + (s < rows % slices ? s : rows % slices)|rows / slices * s|' test_cuda_host
plant_long 'card: iterates that are not exchanged'       src/cuda/pass.c 's|r->now = 1 - r->now;|r->now = r->now + 0;|' test_cuda_host
plant_long 'card: chunks that forget the ones before'    src/cuda/resident.c 's|stair_tiles_run(t, first, n, \&here)|stair_tiles_run(t, 0 * first, n, \&here)|' 'test_cuda_host given*'

wait
failed=$(grep -c '^FAILED' "$work/outcomes")
echo "$(grep -c '^caught' "$work/outcomes") passed, $failed failed"
[ "$failed" -eq 0 ]
