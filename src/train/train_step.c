/* One batch of training, the evaluation after an epoch, and the state that a checkpoint keeps.
 *
 * Invariant: row r of the embedding and its moments stand as after step last[r]; stair_adamw_idle brings
 * them to any later step.  A row is brought up before it is read, so the trajectory is that of dense
 * AdamW on the whole embedding.
 */
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "train/train.h"

void stair_training_bring(stair_training *t, int row, int64_t step)
{
    size_t d = (size_t)t->c->dim8, at = (size_t)row * d;
    stair_adamw_idle(&t->adam, t->last[row], step, d, t->c->embedding + at, t->row_m + at, t->row_v + at);
    t->last[row] = step;
}

static void shuffle(stair_training *t, int64_t epoch)
{
    memcpy(t->order, t->split + t->held_out, (size_t)t->trained_on * sizeof *t->order);
    stair_rng_shuffle(t->seed, (uint64_t)epoch, (uint32_t)t->trained_on, (uint32_t *)t->order);
    t->ordered = epoch;
}

/* The distinct tokens of the batch: `used`, and their places in it. */
static void collect_tokens(stair_training *t)
{
    t->uses = 0;
    for (int r = 0; r < t->pass.rows; r++) {
        int id = t->pass.id[r];
        if (t->slot[id] >= 0) continue;
        t->slot[id] = t->uses;
        t->used[t->uses++] = id;
    }
}

/* The gradient of each of them: the sum over its positions. */
static void sum_tokens(stair_training *t)
{
    size_t d = (size_t)t->c->dim8;
    memset(t->row_gradient, 0, (size_t)t->uses * d * sizeof(double));
    for (int r = 0; r < t->pass.rows; r++) {
        double *sum = t->row_gradient + (size_t)t->slot[t->pass.id[r]] * d;
        for (size_t i = 0; i < d; i++) sum[i] += t->pass.grad_x[(size_t)r * d + i];
    }
}

void stair_training_step(stair_training *t)
{
    stair_classifier *c = t->c;
    size_t d = (size_t)c->dim8;
    int64_t epoch = t->step / t->per_epoch, now = t->step + 1;
    int first = (int)(t->step % t->per_epoch) * t->options->batch, left = t->trained_on - first, correct;
    int n = left < t->options->batch ? left : t->options->batch;
    if (t->ordered != epoch) shuffle(t, epoch);
    stair_pass_load(c, t->questions, t->order + first, 0, n, &t->pass);
    for (int s = 0; s < n; s++) t->label[s] = t->questions->label[t->order[first + s]];
    collect_tokens(t);
    for (int u = 0; u < t->uses; u++) stair_training_bring(t, t->used[u], now - 1);
    stair_pass_forward(c, &t->pass);
    t->loss += n * stair_pass_loss(c, &t->pass, t->label, &correct);
    t->correct += correct;
    t->seen += n;
    stair_pass_backward(c, &t->pass, t->label);
    sum_tokens(t);
    stair_adamw_step(&t->adam, now, c->dense, c->parameters, t->m, t->v, t->pass.gradient);
    for (int u = 0; u < t->uses; u++) {
        size_t at = (size_t)t->used[u] * d;
        stair_adamw_step(&t->adam, now, d, c->embedding + at, t->row_m + at, t->row_v + at,
                         t->row_gradient + (size_t)u * d);
        t->last[t->used[u]] = now;
        t->slot[t->used[u]] = -1;
    }
    t->step = now;
}

void stair_training_evaluate(stair_training *t)
{
    double loss = 0;
    int right = 0;
    for (int first = 0; first < t->held_out; first += t->options->batch) {
        int left = t->held_out - first, n = left < t->options->batch ? left : t->options->batch, correct;
        stair_pass_load(t->c, t->questions, t->split + first, 0, n, &t->pass);
        for (int r = 0; r < t->pass.rows; r++) stair_training_bring(t, t->pass.id[r], t->step);
        for (int s = 0; s < n; s++) t->label[s] = t->questions->label[t->split[first + s]];
        stair_pass_forward(t->c, &t->pass);
        loss += n * stair_pass_loss(t->c, &t->pass, t->label, &correct);
        right += correct;
    }
    t->out->epoch[t->out->epochs] = (stair_train_epoch){
        .epoch = t->out->epochs + 1,
        .train_loss = t->loss / t->seen,
        .train_accuracy = (double)t->correct / t->seen,
        .validation_loss = t->held_out ? loss / t->held_out : NAN,
        .validation_accuracy = t->held_out ? (double)right / t->held_out : NAN,
    };
    t->out->epochs++;
    t->loss = 0;
    t->correct = t->seen = 0;
}

/* Whether what was read is a state that a run can be in: all counts follow from the step. */
static bool sound(const stair_training *t)
{
    if (t->step < 0 || t->step > t->steps) return false;
    int64_t points = t->options->points, all = t->options->epochs * points,
            due = ((t->step + 1) * points - 1) / t->per_epoch, in_epoch = t->step % t->per_epoch;
    return t->out->epochs == t->step / t->per_epoch && t->out->snapshots == (due < all ? due : all) + 1 &&
           t->seen == in_epoch * t->options->batch && t->correct >= 0 && t->correct <= t->seen;
}

/* Everything a run goes on from, to the state or from it, but the rows of the embedding. */
static void move_common(stair_training *t, stair_state *state, bool put)
{
    stair_classifier *c = t->c;
    size_t one = (size_t)(c->layers * c->rank) * (size_t)c->dim * sizeof(float);
    stair_state_move(state, put, &t->step, sizeof t->step);
    stair_state_move(state, put, &t->loss, sizeof t->loss);
    stair_state_move(state, put, &t->correct, sizeof t->correct);
    stair_state_move(state, put, &t->seen, sizeof t->seen);
    stair_state_move(state, put, &t->out->epochs, sizeof t->out->epochs);
    stair_state_move(state, put, &t->out->snapshots, sizeof t->out->snapshots);
    if (!put && !sound(t)) state->failed = true;
    if (state->failed) return;
    stair_state_move(state, put, t->out->epoch, (size_t)t->out->epochs * sizeof *t->out->epoch);
    stair_state_move(state, put, t->out->snapshot, (size_t)t->out->snapshots * sizeof *t->out->snapshot);
    stair_state_move(state, put, t->snapshots, (size_t)t->out->snapshots * one);
    stair_state_move(state, put, c->parameters, c->dense * sizeof(double));
    stair_state_move(state, put, t->m, c->dense * sizeof(double));
    stair_state_move(state, put, t->v, c->dense * sizeof(double));
}

static void move_row(stair_training *t, stair_state *state, bool put, int row)
{
    size_t d = (size_t)t->c->dim8, at = (size_t)row * d;
    stair_state_move(state, put, &t->last[row], sizeof t->last[row]);
    stair_state_move(state, put, t->c->embedding + at, d * sizeof(double));
    stair_state_move(state, put, t->row_m + at, d * sizeof(double));
    stair_state_move(state, put, t->row_v + at, d * sizeof(double));
}

/* Rows still as first drawn are drawn again from the seed, not stored. */
void stair_training_put(const stair_training *training, stair_state *state)
{
    stair_training copy = *training;
    move_common(&copy, state, true);
    for (int r = 0; r < copy.c->vocab; r++) {
        if (copy.last[r] == 0) continue;
        stair_state_put(state, &r, sizeof r);
        move_row(&copy, state, true, r);
    }
}

void stair_training_get(stair_training *t, stair_state *state)
{
    int before = -1;
    move_common(t, state, false);
    for (int i = 0; !state->failed && i < t->out->snapshots; i++) {
        stair_train_snapshot *s = &t->out->snapshot[i];
        if (s->step < 0 || s->step > t->step) state->failed = true;
        s->epoch = (double)s->step / (double)t->per_epoch;
    }
    while (!state->failed && state->at < state->size) {
        int row = -1;
        stair_state_get(state, &row, sizeof row);
        if (row <= before || row >= t->c->vocab) state->failed = true;
        if (!state->failed) move_row(t, state, false, row);
        if (!state->failed && (t->last[row] < 1 || t->last[row] > t->step)) state->failed = true;
        before = row;
    }
}
