/* Sums over a table of the tail of a fibre, one for each node of its head: what layered.c asks of its kernel.
 */
#ifndef STAIR_CHANNEL_LAYERED_H
#define STAIR_CHANNEL_LAYERED_H

#define STAIR_TAIL_PAD 8 /* nodes after each row that carry no weight */

/* Tail nodes v = q along + r across, q and r integers or both half-integers, in rows of constant r. */
typedef struct {
    int rows, length, stride; /* nodes of a row, and with padding */
    double q, r;              /* of the first node of the first row; the next ones follow in steps of one */
    double *a0, *a1, *weight; /* (rows, stride): dependent row of t for both tokens, density */
} stair_tail_table;

/* log integrand at tail node (q, r, a), sign +-:
 *   constant + r_r r + r_rr r^2 + (q_0 + q_r r) q + q_qq q^2 + g00 a0^2 + 2 g01 a0 a1 + g11 a1^2
 *     +- [ (a0_0 + a0_r r + a0_q q) a0 + (a1_0 + a1_r r + a1_q q) a1 ],
 * visible at most where edge_0 + ... + q^2 <= 0, the ellipse that the prior of v alone leaves. */
typedef struct {
    double constant, r_r, r_rr, q_0, q_r, q_qq;
    double g00, g01, g11;
    double a0_0, a0_r, a0_q, a1_0, a1_r, a1_q;
    double edge_0, edge_r, edge_rr, edge_q,
        edge_qr; /* q^2 + 2 (edge_q + edge_qr r) q + edge_0 + 2 edge_r r + edge_rr r^2 */
} stair_tail_form;

/* Sums of weight (exp(plus) +- exp(minus)) times the monomials of (q, r, a). */
enum {
    TAIL_1,
    TAIL_Q,
    TAIL_R,
    TAIL_QQ,
    TAIL_QR,
    TAIL_RR,
    TAIL_A00,
    TAIL_A01,
    TAIL_A11, /* with + */
    TAIL_A0,
    TAIL_A1,
    TAIL_QA0,
    TAIL_QA1,
    TAIL_RA0,
    TAIL_RA1, /* with - */
    TAIL_SUMS
};

/* Scratch of the kernel, one entry for a group of nodes that fill a register. */
typedef struct {
    double *energy;
    int *place, *row; /* of the first node */
} stair_tail_list;

typedef struct {
    stair_tail_list visible[2]; /* plus, minus */
} stair_tail_scratch;

#endif
