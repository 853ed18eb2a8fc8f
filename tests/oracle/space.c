/* Three or more hidden dimensions: posterior sums by the trapezoidal rule on the whole space.
 *
 *   sum over u on a grid of step t, |u| < reach:
 *     exp(-|u|^2 / 2) |det H|^-1 sum_{+-} exp(-|+-x - mu|^2 / (2 s^2)) (1, r, r r^T),  x = H^-1 h
 *
 * with rank 1 in every layer, Z_hidden = omega + C u per token (C C^T the hidden block of V), mu and s^2 the
 * conditional mean and variance of the last index given the hidden ones, and r = Z - omega.  For an
 * analytic integrand the error falls like exp(-2 pi (distance of the nearest pole) / t), so two
 * steps that agree prove their common digits.
 *
 * Input (stdin): L M literal c step shift reach | h (M) | omega (L x M) | C (L-1 x L-1) | a (L-1): mu =
 * omega_L + a . u | s.  Output: s0, then s1 (L*M), then the upper triangle of s2, and the number of nodes.
 */
#include <quadmath.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef LONG_DOUBLE
#include <math.h>
typedef long double real;
#define EXP expl
#else
typedef __float128 real;
#define EXP expq
#endif

enum { MAX_L = 4, MAX_M = 3, MAX_N = MAX_L * MAX_M };

static int L, M, literal;
static real c, step, shift, reach2, h[MAX_M], omega[MAX_L][MAX_M], C[MAX_L][MAX_L], a[MAX_L], s;
static real u[MAX_M][MAX_L];
static real s0, s1[MAX_N], s2[MAX_N][MAX_N];
static long nodes;

static real get(void)
{
    char word[128];
    if (scanf("%127s", word) != 1) exit(2);
    return (real)strtoflt128(word, NULL);
}

static void put(real v)
{
    char word[128];
    quadmath_snprintf(word, sizeof word, "%.36Qe", (__float128)v);
    puts(word);
}

/* H <- (c 1 + S) H, S = rowsoftmax((H z)(H z)^T) or its transpose. */
static void layer(real H[MAX_M][MAX_M], const real *z)
{
    real k[MAX_M], S[MAX_M][MAX_M], out[MAX_M][MAX_M];
    for (int m = 0; m < M; m++) {
        k[m] = 0;
        for (int n = 0; n < M; n++) k[m] += H[m][n] * z[n];
    }
    for (int m = 0; m < M; m++) {
        real top = k[m] * k[0], sum = 0;
        for (int n = 1; n < M; n++) top = k[m] * k[n] > top ? k[m] * k[n] : top;
        for (int n = 0; n < M; n++) sum += S[m][n] = EXP(k[m] * k[n] - top);
        for (int n = 0; n < M; n++) S[m][n] /= sum;
    }
    for (int m = 0; m < M; m++)
        for (int n = 0; n < M; n++) {
            out[m][n] = c * H[m][n];
            for (int j = 0; j < M; j++) out[m][n] += (literal ? S[j][m] : S[m][j]) * H[j][n];
        }
    for (int m = 0; m < M; m++)
        for (int n = 0; n < M; n++) H[m][n] = out[m][n];
}

/* x = H^-1 h by Cramer; returns det H. */
static real solve(real H[MAX_M][MAX_M], real *x)
{
    if (M == 2) {
        real det = H[0][0] * H[1][1] - H[0][1] * H[1][0];
        x[0] = (H[1][1] * h[0] - H[0][1] * h[1]) / det;
        x[1] = (H[0][0] * h[1] - H[1][0] * h[0]) / det;
        return det;
    }
    real adj[3][3];
    for (int m = 0; m < 3; m++)
        for (int n = 0; n < 3; n++) {
            int i = (n + 1) % 3, j = (n + 2) % 3, k = (m + 1) % 3, l = (m + 2) % 3;
            adj[m][n] = H[i][k] * H[j][l] - H[i][l] * H[j][k];
        }
    real det = H[0][0] * adj[0][0] + H[0][1] * adj[1][0] + H[0][2] * adj[2][0];
    for (int m = 0; m < 3; m++) x[m] = (adj[m][0] * h[0] + adj[m][1] * h[1] + adj[m][2] * h[2]) / det;
    return det;
}

static void node(real norm2)
{
    real H[MAX_M][MAX_M], r[MAX_N], mu[MAX_M], x[MAX_M];
    for (int m = 0; m < M; m++)
        for (int n = 0; n < M; n++) H[m][n] = m == n;
    for (int m = 0; m < M; m++) {
        mu[m] = 0;
        for (int l = 0; l < L - 1; l++) {
            r[l * M + m] = 0;
            for (int k = 0; k <= l; k++) r[l * M + m] += C[l][k] * u[m][k];
            mu[m] += a[l] * u[m][l];
        }
    }
    for (int l = 0; l < L - 1; l++) {
        real z[MAX_M];
        for (int m = 0; m < M; m++) z[m] = omega[l][m] + r[l * M + m];
        layer(H, z);
    }
    real det = solve(H, x);
    nodes++;
    for (int sign = 1; sign >= -1; sign -= 2) {
        real q = norm2 / 2;
        for (int m = 0; m < M; m++) {
            real d = r[(L - 1) * M + m] = sign * x[m] - omega[L - 1][m];
            q += (d - mu[m]) * (d - mu[m]) / (2 * s * s);
        }
        if (q > reach2 / 2 + 10) continue;
        real w = EXP(-q) / (det < 0 ? -det : det);
        s0 += w;
        for (int i = 0; i < L * M; i++) {
            real wr = w * r[i];
            s1[i] += wr;
            for (int j = i; j < L * M; j++) s2[i][j] += wr * r[j];
        }
    }
}

static void walk(int i, real norm2)
{
    if (i == M * (L - 1)) {
        node(norm2);
        return;
    }
    real *v = &u[i / (L - 1)][i % (L - 1)];
    for (int side = 0; side < 2; side++)
        for (long k = side;; k++) {
            *v = ((side ? -k : k) + shift) * step;
            if (norm2 + *v * *v > reach2) break;
            walk(i + 1, norm2 + *v * *v);
        }
}

int main(void)
{
    L = (int)get(), M = (int)get(), literal = (int)get();
    c = get(), step = get(), shift = get(), reach2 = get();
    reach2 *= reach2;
    for (int m = 0; m < M; m++) h[m] = get();
    for (int l = 0; l < L; l++)
        for (int m = 0; m < M; m++) omega[l][m] = get();
    for (int l = 0; l < L - 1; l++)
        for (int k = 0; k < L - 1; k++) C[l][k] = get();
    for (int l = 0; l < L - 1; l++) a[l] = get();
    s = get();
    walk(0, 0);
    put(s0);
    for (int i = 0; i < L * M; i++) put(s1[i]);
    for (int i = 0; i < L * M; i++)
        for (int j = i; j < L * M; j++) put(s2[i][j]);
    printf("%ld\n", nodes);
    return 0;
}
