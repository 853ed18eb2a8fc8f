/* The sum over the tail of a fibre at one node of its head: first the energies, keeping what is visible,
 * then the exps and moments of that alone. */
#include <math.h>

#include "channel/layered.h"
#include "core/isa.h"
#include "core/lanes.h"

int STAIR_HOT(stair_tail_sum)(const stair_tail_table *table, const stair_tail_form *form, double cutoff,
                              const stair_tail_scratch *scratch, double *top, double (*sums)[TAIL_SUMS]);

static const double number[8] = {0, 1, 2, 3, 4, 5, 6, 7};

static inline double clamp(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* Energies of the groups that meet the ellipse, each beginning with a node of even row + column; the visible
 * ones go to the lists of either sign.  Raises `top` to the largest; returns the number of nodes evaluated.
 */
LANES_INLINE int look(const stair_tail_table *t, const stair_tail_form *f, double threshold, double *top,
                      const stair_tail_scratch *s, int *kept)
{
    lanes most = lanes_set(*top);
    int count[2] = {0, 0}, groups = 0;
    double bend = f->edge_rr - f->edge_qr * f->edge_qr, lean = f->edge_r - f->edge_q * f->edge_qr;
    double reach2 = lean * lean - bend * (f->edge_0 - f->edge_q * f->edge_q),
           reach = sqrt(reach2 > 0 ? reach2 : 0);
    int first = (int)clamp((-lean - reach) / bend - t->r, 0, t->rows),
        end = (int)clamp((-lean + reach) / bend - t->r + 1, 0, t->rows);
    for (int row = first; row < end; row++) {
        double r = t->r + row, half = f->edge_q + f->edge_qr * r,
               root2 = half * half - (f->edge_0 + (2 * f->edge_r + f->edge_rr * r) * r);
        double root = sqrt(root2 > 0 ? root2 : 0);
        int from = (int)clamp(-half - root - t->q, 0, t->length),
            to = (int)clamp(-half + root - t->q + 1, 0, t->length);
        from -= (from + row) & 1; /* -1 is the padding of the row before */
        double q_0 = f->q_0 + f->q_r * r, base = f->constant + (f->r_r + f->r_rr * r) * r;
        double a0_0 = f->a0_0 + f->a0_r * r, a1_0 = f->a1_0 + f->a1_r * r;
        for (int i = from; i < to; i += LANES, groups++) {
            const int place = row * t->stride + i;
            lanes q = lanes_load(number) + (t->q + i), a0 = lanes_load(t->a0 + place),
                  a1 = lanes_load(t->a1 + place);
            lanes even = base + q * (q_0 + q * f->q_qq) + a0 * (a0 * f->g00 + a1 * f->g01) +
                         a1 * (a0 * f->g01 + a1 * f->g11);
            lanes odd = (a0_0 + q * f->a0_q) * a0 + (a1_0 + q * f->a1_q) * a1;
            lanes energy[2] = {even + odd, even - odd};
            most = lanes_max(most, lanes_max(energy[0], energy[1]));
            for (int k = 0; k < 2; k++) { /* written whether visible or not: a branch less */
                const stair_tail_list *list = &s->visible[k];
                lanes_store(list->energy + count[k] * LANES, energy[k]);
                list->place[count[k]] = place;
                list->row[count[k]] = row;
                count[k] += lanes_any(energy[k] > threshold) ? 1 : 0;
            }
        }
    }
    kept[0] = count[0];
    kept[1] = count[1];
    *top = lanes_top(most);
    return groups * LANES;
}

/* Adds the moments of one sign. */
LANES_INLINE void add(const stair_tail_table *t, const stair_tail_list *list, int kept, double sign,
                      double top, lanes *acc)
{
    for (int i = 0; i < kept; i++) {
        int place = list->place[i], row = list->row[i];
        lanes weight =
            lanes_load(t->weight + place) * lanes_exp_short(lanes_load(list->energy + i * LANES) - top);
        lanes q = lanes_load(number) + (t->q + (place - row * t->stride)), a0 = lanes_load(t->a0 + place),
              a1 = lanes_load(t->a1 + place);
        double r = t->r + row;
        lanes w_q = weight * q, w_r = weight * r, w_0 = weight * a0, w_1 = weight * a1, odd_0 = sign * w_0,
              odd_1 = sign * w_1;
        acc[TAIL_1] += weight;
        acc[TAIL_Q] += w_q;
        acc[TAIL_R] += w_r;
        acc[TAIL_QQ] += w_q * q;
        acc[TAIL_QR] += w_q * r;
        acc[TAIL_RR] += w_r * r;
        acc[TAIL_A00] += w_0 * a0;
        acc[TAIL_A01] += w_0 * a1;
        acc[TAIL_A11] += w_1 * a1;
        acc[TAIL_A0] += odd_0;
        acc[TAIL_A1] += odd_1;
        acc[TAIL_QA0] += odd_0 * q;
        acc[TAIL_QA1] += odd_1 * q;
        acc[TAIL_RA0] += odd_0 * r;
        acc[TAIL_RA1] += odd_1 * r;
    }
}

/* sums: of nodes with even row + column and with odd, relative to exp(top), which is raised to the largest
 * energy; returns the number of nodes evaluated. */
int STAIR_HOT(stair_tail_sum)(const stair_tail_table *t, const stair_tail_form *f, double cutoff,
                              const stair_tail_scratch *s, double *top, double (*sums)[TAIL_SUMS])
{
    lanes acc[TAIL_SUMS];
    int kept[2], seen = look(t, f, *top - cutoff, top, s, kept);
    for (int k = 0; k < TAIL_SUMS; k++) acc[k] = lanes_set(0);
    add(t, &s->visible[0], kept[0], 1, *top, acc);
    add(t, &s->visible[1], kept[1], -1, *top, acc);
    for (int k = 0; k < TAIL_SUMS; k++) {
        double part[LANES];
        lanes_store(part, acc[k]);
        for (int i = 2; i < LANES; i++) part[i & 1] += part[i];
        sums[0][k] = part[0];
        sums[1][k] = part[1];
    }
    return seen;
}
