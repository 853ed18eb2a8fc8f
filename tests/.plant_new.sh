#!/usr/bin/env bash
# Planted bugs: each change below is made alone in a copy of the tree, and the tests named beside it must
# fail.  A suite that does not notice them proves nothing.
#
#   tests/plant.sh [PATTERN]      only the bugs whose names contain PATTERN
#
# Those of plant_long run with a PATTERN or with STAIR_LONG=1: each costs a rebuild.  A test is a program of
# build/tests with its arguments, or cli:NAME for tests/cli/NAME.sh.
# Ends with 'N passed, 0 failed'; a bug passes when the suite catches it.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
pattern=${1:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/stair-plant.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
tree=$work/tree build=$work/build
passed=0 failed=0

mkdir "$tree"
(cd "$root" && tar cf - CMakeLists.txt include src cli bench tests data $([ -d cmake ] && echo cmake)) | tar xf - -C "$tree" || exit 1
cmake -G Ninja -S "$tree" -B "$build" -DCMAKE_BUILD_TYPE=Release >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

# check 'program arguments; program arguments': builds and runs all, fails when one does
check() {
    local command
    ninja -C "$build" -j"${JOBS:-2}" $(tr ';' '\n' <<<"$1" | awk '{print $1 ~ /^cli:/ ? "stair_program" : $1}' | sort -u) >"$work/log" 2>&1 || return 2
    while IFS= read -r command; do
        command=${command#"${command%%[! ]*}"}
        [ -n "$command" ] || continue
        if [[ $command == cli:* ]]; then
            (cd "$tree" && timeout 300 bash "tests/cli/${command#cli:}.sh" "$build/stair") >"$work/log" 2>&1 || return 1
            continue
        fi
        (cd "$tree" && set -f && timeout 120 "$build"/tests/$command) >"$work/log" 2>&1 || return 1
    done < <(tr ';' '\n' <<<"$1")
}

# plant NAME FILE SED_EXPRESSION TESTS
plant() {
    local name=$1 file=$tree/$2 change=$3 tests=$4 outcome
    [[ $name == *"$pattern"* ]] || return 0
    cp "$file" "$work/saved"
    sed -i -e "$change" "$file"
    if cmp -s "$file" "$work/saved"; then
        outcome='FAILED: the change no longer applies'
    else
        check "$tests"
        case $? in
        0) outcome='FAILED: not noticed by '$tests ;;
        1) outcome='caught by '${tests%%;*} ;;
        *) outcome='FAILED: does not build' && cat "$work/log" ;;
        esac
    fi
    cp "$work/saved" "$file"
    printf '%-52s %s\n' "$name" "$outcome"
    if [[ $outcome == caught* ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

plant_long() {
    if [ -n "$pattern" ] || [ "${STAIR_LONG-}" = 1 ]; then plant "$@"; fi
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

# The tests must pass where nothing is planted, or their failures say nothing.
baseline="$closed; $norm; $general; $negative; $model; $skip4; test_lanes_v2; $gamp; $mapped; $rules; $pair"
baseline+="; $averages; $hidden; test_gamp_tiles; test_parallel; test_channel_rules rules_for_noise_on_y"
baseline+="; test_asymptotics_threshold whole_staircase_of_two_layers; test_reported; test_atomic_file; test_rng; $checkpoint"
[ "${STAIR_LONG-}" = 1 ] && baseline+="; $hostile"
[ -n "${PLANT_NO_BASELINE-}" ] && baseline=
if ! check "$baseline"; then
    cat "$work/log"
    echo "0 passed, 1 failed: the tests fail without any planted bug"
    exit 1
fi

# numbers beside the main ones, and what is kept on disk
plant 'an entropy without error'                  src/asymptotics/entropy.c 's|\*error \*= alpha;|*error = 0;|' 'test_reported entropies*'
plant 'a Bayes error without error'               src/asymptotics/errors.c 's|errors->bayes_error = stair_replicate_error(n, job->bayes);|errors->bayes_error = 0;|' 'test_reported errors*'
plant 'prediction errors without prenoise'        src/asymptotics/errors.c 's|1 + job->model->info.prenoise : 0|1 : 0|' 'test_reported errors*'
plant 'the error of the weights by a norm'        src/asymptotics/errors.c 's|.weights = 1 - norm / p}|.weights = 1 - sqrt(norm) / p}|' 'test_reported errors*'
plant 'a change of weights squared'               src/gamp/step.c 's|\*change = sqrt(moved / |*change = (moved / |' 'test_reported change*'
plant 'the last batch is never used'              src/train/sgd.c 's|per_epoch = (count + size - 1) / size;|per_epoch = count / size;|' 'test_reported every*'
plant 'a shuffle that prefers some orders'        src/core/rng.c 's|(uint32_t)(u\[0\] \* i), swap|(uint32_t)(u[0] * n), swap|' test_rng
plant 'similarity of the other Gram matrix'       src/train/train_similarity.c 's|scale > 0 ? rows_product(rank, dim, w, end)|scale > 0 ? columns_product(rank, dim, w, end)|' 'test_reported similarity*'
plant 'a checkpoint continued with other data'    src/gamp/fit.c 's|if (options->checkpoint) /|if (options->dim < 0) /|' $checkpoint
plant 'a grid that goes on with another list'     cli/grid.c 's|return stair_mark_bytes(mark, list->values, .*|return mark;|' $checkpoint
plant 'files that are not synchronised'           src/io/atomic_file.c 's|fflush(out->file) == 0 \&\& fsync(fileno(out->file)) == 0;|fflush(out->file) == 0;|' test_atomic_file

plant_long 'a training state that cannot be'      src/train/train_step.c 's|if (!put \&\& !sound(t)) state->failed = true;||' $checkpoint
plant_long 'a descent that cannot be'             src/train/sgd.c 's#state.failed || !sound(d)#state.failed#' $checkpoint
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
plant_long 'a closed output that takes it all'    cli/main.c 's|^    fill_standard_files();||' $hostile

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
