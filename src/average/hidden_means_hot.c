/* The hot loops of hidden_means.c: which nodes count for a label, what they carry, and the matrix product
 * with the priors of all hidden means. */
#include "average/hidden_means_sums.h"
#include "core/isa.h"
#include "core/lanes.h"

#define WIDTH (2 * LANES) /* floats of a register */
#define EACH  (STAIR_MEANS_SPAN / WIDTH)

float STAIR_HOT(stair_means_exponents)(const stair_means_nodes *nodes, const stair_means_label *label,
                                       float *exponent);
size_t STAIR_HOT(stair_means_select)(size_t count, const float *exponent, float least, uint32_t *list);
void STAIR_HOT(stair_means_carry)(const stair_means_shape *shape, const stair_means_nodes *nodes,
                                  const stair_means_label *label, float top, size_t n, const uint32_t *list,
                                  float *carried);
void STAIR_HOT(stair_means_priors)(int dims, const int *axis, const float *base, size_t means,
                                   const float *omega, const float *constant, const stair_means_nodes *nodes,
                                   size_t n, const uint32_t *list, float *prior);
size_t STAIR_HOT(stair_means_near)(size_t n, const uint32_t *list, const uint8_t *near, uint32_t *places);
void STAIR_HOT(stair_means_product)(int sums, size_t n, const uint32_t *places, const uint32_t *list,
                                    const float *carried, const float *prior, float *out);

/* Exponents of the weights of all nodes, the larger of the two signs of the last row; the largest is
 * returned. */
float STAIR_HOT(stair_means_exponents)(const stair_means_nodes *nodes, const stair_means_label *label,
                                       float *exponent)
{
    floats top = floats_set(-1e30f);
    for (size_t i = 0; i < nodes->count; i += WIDTH) {
        floats plus = floats_set(0), minus = floats_set(0);
        for (int t = 0; t < 2; t++) {
            floats w = floats_load(nodes->t[2 * t] + i) * label->x[0] +
                       floats_load(nodes->t[2 * t + 1] + i) * label->x[1];
            floats a = w - label->omega[t], b = w + label->omega[t];
            plus += a * a;
            minus += b * b;
        }
        floats e = floats_load(nodes->log_weight + i) - label->half_inverse * floats_min(plus, minus);
        floats_store(exponent + i, e);
        top = floats_max(top, e);
    }
    return floats_top(top);
}

/* Numbers of the nodes above `least`, in order. */
size_t STAIR_HOT(stair_means_select)(size_t count, const float *exponent, float least, uint32_t *list)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i += WIDTH) {
        if (!floats_any(floats_load(exponent + i) > least)) continue;
        for (size_t k = i; k < i + WIDTH; k++) {
            list[n] = (uint32_t)k;
            n += exponent[k] > least;
        }
    }
    return n;
}

LANES_INLINE floats gather(const float *from, const uint32_t *list)
{
    float value[WIDTH];
    for (int k = 0; k < WIDTH; k++) value[k] = from[list[k]];
    return floats_load(value);
}

/* Weight of each node times what is summed, (n, sums). */
void STAIR_HOT(stair_means_carry)(const stair_means_shape *shape, const stair_means_nodes *nodes,
                                  const stair_means_label *label, float top, size_t n, const uint32_t *list,
                                  float *carried)
{
    for (size_t i = 0; i < n; i += WIDTH) {
        uint32_t here[WIDTH];
        floats r[2][2], square[2] = {floats_set(0), floats_set(0)}, out[STAIR_MEANS_SUMS];
        size_t few = n - i < WIDTH ? n - i : WIDTH;
        for (size_t k = 0; k < WIDTH; k++) here[k] = list[k < few ? i + k : i];
        for (int t = 0; t < 2; t++) {
            floats w =
                gather(nodes->t[2 * t], here) * label->x[0] + gather(nodes->t[2 * t + 1], here) * label->x[1];
            r[0][t] = w - label->omega[t];
            r[1][t] = -w - label->omega[t];
            for (int s = 0; s < 2; s++) square[s] += r[s][t] * r[s][t];
        }
        floats base = gather(nodes->log_weight, here) - top;
        floats plus = floats_exp(base - label->half_inverse * square[0]),
               minus = floats_exp(base - label->half_inverse * square[1]), both = plus + minus;
        int at = 0;
        out[at++] = both;
        for (int t = 0; t < 2; t++) out[at++] = plus * r[0][t] + minus * r[1][t];
        for (int row = 0; row < shape->dim / 2; row++) {
            floats a = gather(nodes->u[2 * row], here), b = gather(nodes->u[2 * row + 1], here);
            if (shape->known[row]) {
                out[at++] = both * a;
                out[at++] = both * b;
            } else {
                out[at++] = both * a * a;
                out[at++] = both * a * b;
                out[at++] = both * b * b;
            }
        }
        for (int s = 0; s < at; s++) {
            float value[WIDTH];
            floats_store(value, out[s]);
            for (size_t k = 0; k < few; k++) carried[(i + k) * (size_t)at + (size_t)s] = value[k];
        }
    }
}

/* exp(base(node) + sum_d u_d omega_d + constant) for every node of the list and every mean: (means / span, n,
 * span). omega (dims, means) is in units that make the product the exponent; axis: which coordinates of u. */
void STAIR_HOT(stair_means_priors)(int dims, const int *axis, const float *base, size_t means,
                                   const float *omega, const float *constant, const stair_means_nodes *nodes,
                                   size_t n, const uint32_t *list, float *prior)
{
    for (size_t j = 0; j < means; j += STAIR_MEANS_SPAN)
        for (size_t i = 0; i < n; i++, prior += STAIR_MEANS_SPAN)
            for (size_t k = 0; k < STAIR_MEANS_SPAN; k += WIDTH) {
                floats e = floats_load(constant + j + k) + base[list[i]];
                for (int d = 0; d < dims; d++)
                    e += nodes->u[axis[d]][list[i]] * floats_load(omega + (size_t)d * means + j + k);
                floats_store(prior + k, floats_exp(e));
            }
}

/* Places in the list of the nodes that some mean of a span is near to. */
size_t STAIR_HOT(stair_means_near)(size_t n, const uint32_t *list, const uint8_t *near, uint32_t *places)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        places[found] = (uint32_t)i;
        found += near[list[i]];
    }
    return found;
}

/* out (sums, span) = carried^T prior over n nodes of a list, at the places given or all; prior has a row for
 * every node there is, or, without a list, for every place.  As many registers of a row at a time as leave
 * all sums in registers. */
LANES_INLINE void product(const int sums, size_t n, const uint32_t *places, const uint32_t *list,
                          const float *carried, const float *prior, float *out)
{
    const int together = sums <= 6 ? EACH : 1;
    for (int first = 0; first < EACH; first += together) {
        floats total[STAIR_MEANS_SUMS][EACH];
        for (int s = 0; s < sums; s++)
            for (int k = 0; k < together; k++) total[s][k] = floats_set(0);
        for (size_t i = 0; i < n; i++) {
            size_t place = places ? places[i] : i;
            const float *row = prior + (list ? list[place] : place) * STAIR_MEANS_SPAN + first * WIDTH,
                        *here = carried + place * (size_t)sums;
            for (int k = 0; k < together; k++) {
                floats p = floats_load(row + k * WIDTH);
                for (int s = 0; s < sums; s++) total[s][k] += here[s] * p;
            }
        }
        for (int s = 0; s < sums; s++)
            for (int k = 0; k < together; k++)
                floats_store(out + s * STAIR_MEANS_SPAN + (first + k) * WIDTH, total[s][k]);
    }
}

void STAIR_HOT(stair_means_product)(int sums, size_t n, const uint32_t *places, const uint32_t *list,
                                    const float *carried, const float *prior, float *out)
{
    switch (sums) { /* sums known to the compiler stay in registers */
    case 5:
        product(5, n, places, list, carried, prior, out);
        break;
    case 7:
        product(7, n, places, list, carried, prior, out);
        break;
    case 8:
        product(8, n, places, list, carried, prior, out);
        break;
    case 9:
        product(9, n, places, list, carried, prior, out);
        break;
    default:
        product(sums, n, places, list, carried, prior, out);
        break;
    }
}
