/* The fibre of deep attention: all Z that give one label.
 *
 * The label fixes J = h h^T of the last layer up to t 11^T (softmax) or fully (linear), hence the
 * rows of h (M, P_L) up to a rotation and, for softmax with P_L >= M, up to a component v common
 * to all tokens and orthogonal to their differences.  Then Z_L = (H_{L-1}^{-1} h)^T with density
 * |det H_{L-1}|^{-P_L}, whatever the hidden indices Z_1 .. Z_{L-1} are:
 *
 *   coordinates u = (Z_1 .. Z_{L-1}, v, rotation), measure dZ dv dHaar.
 *
 * Softmax: Delta_mn = log y_mm - log y_mn = J_mm - J_mn gives
 *   |h_m - h_n|^2 = Delta_mn + Delta_nm,   |h_m|^2 - |h_n|^2 = Delta_mn - Delta_nm.
 */
#include "model/attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/isa.h"
#include "core/matrix.h"

enum { POLISH = 32 }; /* most entries of h that are polished: its normal equations are then 8 kB */

static const struct {
    double feasible;   /* how far labels may be from a fibre, relative to their size */
    double tie;        /* squared distance of the farthest tokens below which all of them are equal, */
    double tied_label; /* and the most a label may then differ from that of equal tokens */
    double flat;       /* eigenvalue of a Gram matrix, relative to the largest, that is rounding */
    double loose;      /* the same of the normal equations: rotations, and what the label does not fix */
    double near;       /* distance of c 1 + S from being singular within which the density is rough */
    double thin; /* noise on y below which the tube around a fibre has its own coordinates: at 0.1 those of
                    Z take fewer nodes, at 1e-2 as many, at 1e-4 nine times more */
} tuning = {.feasible = 1e-7,
            .tie = 1e-300,
            .tied_label = 1e-12,
            .flat = 1e-14,
            .loose = 1e-10,
            .near = 0.25,
            .thin = 5e-3};

STAIR_HOT_TABLE(void, stair_attention_map,
                (const stair_attention *a, const double *h, const double *centre, bool brief, double *scratch,
                 int n, const double *u, double *z, double *weight));
STAIR_HOT_TABLE(void, stair_attention_unmix,
                (const stair_attention *a, int layers, double *scratch, int n, const double *u, double *mix,
                 double *weight));

STAIR_HOT_TABLE(void, stair_attention_tube,
                (const stair_attention *a, double scale, double *scratch, int n, const double *u, double *z,
                 double *y, double *weight));

stair_attention_layout stair_attention_fibre_layout(const stair_attention *a, int *size)
{
    int last = a->rank[a->layers - 1], m = a->tokens;
    stair_attention_layout at = {.h = 0, .centre = m * last};
    at.scratch = (at.centre + 2 * last * last + 7) / 8 * 8;
    *size = at.scratch + 8 * ((a->layers + 1) * m * m + m * last);
    return at;
}

static stair_status infeasible(stair_context *context, const char *why)
{
    return stair_fail(context, STAIR_BAD_INPUT, "label is outside the range of the model: %s", why);
}

/* P_L = 1: from the pair of tokens that are farthest apart. */
static stair_status line_from_softmax(stair_context *context, int m, const double *delta, double *h)
{
    int from = 0, to = 0;
    double widest = 0, scale = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double gap = delta[i * m + j] + delta[j * m + i];
            if (i != j && fabs(delta[i * m + j]) > scale) scale = fabs(delta[i * m + j]);
            if (gap > widest) {
                widest = gap;
                from = i;
                to = j;
            }
        }
    memset(h, 0, sizeof(double) * (size_t)m);
    if (widest <= tuning.tie) /* a tie: every token equal, taken at the symmetric limit h = 0 */
        return scale > tuning.tied_label ? infeasible(context, "Delta_mn + Delta_nm must be positive")
                                         : STAIR_OK;
    double root = sqrt(widest);
    h[from] = delta[from * m + to] / root;
    h[to] = -delta[to * m + from] / root;
    for (int k = 0; k < m; k++)
        if (k != from && k != to)
            h[k] = (h[from] * h[from] - h[to] * h[to] - delta[from * m + k] + delta[to * m + k]) /
                   (h[from] - h[to]);
    return STAIR_OK;
}

/* One Gauss-Newton step, shortest in h, on Delta_mn = |h_m|^2 - h_m.h_n: double centring loses digits where
 * one direction of h is much shorter than another. */
static void polish_points(int m, int rank, const double *delta, double *h)
{
    int n = m * rank;
    double normal[POLISH * POLISH] = {0}, right[POLISH] = {0}, values[POLISH], vectors[POLISH * POLISH];
    if (n > POLISH) return;
    for (int a = 0; a < m; a++)
        for (int b = 0; b < m; b++) {
            double row[POLISH] = {0}, gap = delta[a * m + b];
            for (int k = 0; k < rank && a != b; k++) {
                gap -= h[a * rank + k] * (h[a * rank + k] - h[b * rank + k]);
                row[a * rank + k] = 2 * h[a * rank + k] - h[b * rank + k];
                row[b * rank + k] = -h[a * rank + k];
            }
            for (int i = 0; i < n && a != b; i++) {
                right[i] += row[i] * gap;
                for (int j = 0; j < n; j++) normal[i * n + j] += row[i] * row[j];
            }
        }
    stair_matrix_eigen(n, normal, values, vectors);
    for (int k = 0; k < n; k++) {
        double step = 0;
        if (!(values[k] > tuning.loose * values[n - 1])) continue;
        for (int i = 0; i < n; i++) step += vectors[i * n + k] * right[i] / values[k];
        for (int i = 0; i < n; i++) h[i] += step * vectors[i * n + k];
    }
}

/* The first direction k along which tokens differ by rounding alone.  What they have in common there may be
 * large, and shows in the norms by their product: h_ik = c + s_i adds 2 c s_i.  Any c will do that has s_i no
 * larger than rounding, |s|^2 = value. */
static void flat_direction(int m, int rank, int k, double value, const double *excess, double *h)
{
    double left[STAIR_MAX_TOKENS], norm = 0;
    for (int i = 0; i < m; i++) {
        left[i] = excess[i];
        for (int l = 0; l < k; l++) { /* a direction's part is 2 c_l (h_il - c_l) */
            double centre = 0;
            for (int j = 0; j < m; j++) centre += h[j * rank + l] / m;
            left[i] -= 2 * centre * (h[i * rank + l] - centre);
        }
        norm += left[i] * left[i];
    }
    if (!(norm > 0) || !(value > 0)) return;
    norm = sqrt(norm);
    for (int i = 0; i < m; i++) h[i * rank + k] = 0.5 * norm / sqrt(value) + left[i] * sqrt(value) / norm;
}

/* P_L >= 2: centred Gram matrix by double centring, its square root, then the centre of mass. */
static stair_status points_from_softmax(stair_context *context, int m, int rank, const double *delta,
                                        double *h)
{
    double gram[STAIR_ATTENTION_SQUARE], values[STAIR_MAX_TOKENS], vectors[STAIR_ATTENTION_SQUARE],
        row[STAIR_MAX_TOKENS] = {0}, total = 0;
    int kept = rank < m - 1 ? rank : m - 1;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) row[i] += (delta[i * m + j] + delta[j * m + i]) / m;
    for (int i = 0; i < m; i++) total += row[i] / m;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            gram[i * m + j] = -0.5 * (delta[i * m + j] + delta[j * m + i] - row[i] - row[j] + total);
    stair_matrix_eigen(m, gram, values, vectors);
    double largest = values[m - 1] > 0 ? values[m - 1] : 0;
    if (values[0] < -tuning.feasible * (largest + 1e-12))
        return infeasible(context, "squared distances of tokens are not Euclidean");
    memset(h, 0, sizeof(double) * (size_t)(m * rank));
    /* |h_i|^2 less that of the centred Gram matrix, and less its mean: a direction along which tokens hardly
     * differ is orthogonal to 1 only roughly */
    double excess[STAIR_MAX_TOKENS] = {0}, mean = 0;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) excess[i] += (delta[i * m + j] - delta[j * m + i]) / m;
        excess[i] -= gram[i * m + i];
        mean += excess[i] / m;
    }
    for (int i = 0; i < m; i++) excess[i] -= mean;
    for (int k = 0; k < kept; k++) {
        double value = values[m - 1 - k], centre = 0;
        if (!(value > tuning.flat * largest) || value <= 0) {
            flat_direction(m, rank, k, tuning.flat * largest, excess, h);
            break;
        }
        for (int i = 0; i < m; i++) h[i * rank + k] = sqrt(value) * vectors[i * m + (m - 1 - k)];
        for (int i = 0; i < m; i++) centre += 0.5 * h[i * rank + k] * excess[i] / value;
        for (int i = 0; i < m; i++) h[i * rank + k] += centre;
    }
    if (rank < m) polish_points(m, rank, delta, h); /* else h has a common part that is not in it yet */
    return STAIR_OK;
}

/* J known whole: h = square root of J. */
static stair_status points_from_linear(stair_context *context, int m, int rank, const double *j, double *h)
{
    double values[STAIR_MAX_TOKENS], vectors[STAIR_ATTENTION_SQUARE];
    int kept = rank < m ? rank : m;
    memset(h, 0, sizeof(double) * (size_t)(m * rank));
    if (rank == 1) { /* one row is enough, and more accurate */
        int best = 0;
        for (int i = 1; i < m; i++)
            if (j[i * m + i] > j[best * m + best]) best = i;
        if (j[best * m + best] < 0) return infeasible(context, "the diagonal of y must not be negative");
        for (int i = 0; i < m && j[best * m + best] > 0; i++)
            h[i] = j[i * m + best] / sqrt(j[best * m + best]);
        return STAIR_OK;
    }
    stair_matrix_eigen(m, j, values, vectors);
    for (int k = 0; k < kept; k++) {
        double value = values[m - 1 - k];
        for (int i = 0; i < m && value > 0; i++) h[i * rank + k] = sqrt(value) * vectors[i * m + (m - 1 - k)];
    }
    return STAIR_OK;
}

/* Whether h reproduces the label: a label off the range of the model does not get this far. */
static stair_status check_points(stair_context *context, const stair_attention *a, int rank,
                                 const double *target, const double *h)
{
    int m = a->tokens;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double dot = 0, norm = 0, other = 0;
            for (int k = 0; k < rank; k++) {
                dot += h[i * rank + k] * h[j * rank + k];
                norm += h[i * rank + k] * h[i * rank + k];
                other += h[j * rank + k] * h[j * rank + k];
            }
            double found = a->linear ? dot : norm - dot;
            if (!(fabs(found - target[i * m + j]) <= tuning.feasible * (norm + other + 1e-6))) {
                char why[96];
                snprintf(why, sizeof why, "entry (%d,%d) is %.6g where rank %d allows %.6g", i + 1, j + 1,
                         target[i * m + j], rank, found);
                return infeasible(context, why);
            }
        }
    return STAIR_OK;
}

/* Charts centred where the rotation brings h closest to what omega predicts. */
static void centre_charts(const stair_attention *a, const double *h, const double *omega, double *centre)
{
    int m = a->tokens, last = a->layers - 1, p = a->rank[last];
    double mixed[STAIR_ATTENTION_SQUARE], k[STAIR_SQUARE];
    stair_attention_mixing(a, last, omega, mixed);
    for (int x = 0; x < p; x++)
        for (int y = 0; y < p; y++) {
            k[x * p + y] = 0;
            for (int i = 0; i < m; i++)
                for (int j = 0; j < m; j++)
                    k[x * p + y] += h[i * p + x] * mixed[i * m + j] * omega[(a->row[last] + y) * m + j];
        }
    stair_matrix_procrustes(p, k, 1, centre);
    stair_matrix_procrustes(p, k, -1, centre + p * p);
}

/* Whether c 1 + S is singular for some real Z, or so close to it that the density has a pole next to the
 * real axis.  S has the eigenvalue 1 and, for softmax, others in (-1, 1), positive for two tokens; for linear
 * scores all are positive. */
bool stair_attention_is_rough(const stair_attention *a)
{
    const double near = tuning.near;
    if (a->layers == 1) return false;
    if (a->mixed == STAIR_MIXED_BY_COMMITTEE) /* rows of the sum are at most L - 1, eigenvalues too */
        return a->tokens > 2 && a->share * (a->layers - 1) > 1 - near;
    if (a->linear) return a->skip < near;
    return a->skip > -1 - near && a->skip < (a->tokens == 2 ? near : 1 + near);
}

stair_status stair_attention_points(stair_context *context, const stair_attention *a, const double *label,
                                    double *h)
{
    int m = a->tokens, rank = a->rank[a->layers - 1];
    double target[STAIR_ATTENTION_SQUARE];
    target[0] = 0; /* compilers do not know that there is a token */
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            target[i * m + j] = a->linear ? label[i * m + j] : label[i * m + i] - label[i * m + j];
    if (a->linear)
        STAIR_TRY(points_from_linear(context, m, rank, target, h));
    else if (rank == 1 && m > 1)
        STAIR_TRY(line_from_softmax(context, m, target, h));
    else
        STAIR_TRY(points_from_softmax(context, m, rank, target, h));
    return check_points(context, a, rank, target, h);
}

stair_status stair_attention_fibre_open(stair_context *context, const stair_model *model, const double *label,
                                        const double *omega, stair_fibre *fibre)
{
    const stair_attention *a = model->state;
    int m = a->tokens, last = a->layers - 1, rank = a->rank[last], size;
    stair_attention_layout at = stair_attention_fibre_layout(a, &size);
    STAIR_TRY(stair_attention_points(context, a, label, fibre->data + at.h));
    if (rank > 1) centre_charts(a, fibre->data + at.h, omega, fibre->data + at.centre);
    fibre->free_rows = a->row[last];
    fibre->dim = a->row[last] * m + (a->unseen > 0) + a->angles;
    /* O(rank) is SO and its image under -1 when the rank is odd; else -1 is in SO and the reflections
     * need a chart of their own */
    fibre->mirrored = rank % 2;
    fibre->charts = fibre->mirrored ? 1 : 2;
    fibre->angles = a->angles;
    fibre->rough = stair_attention_is_rough(a);
    return STAIR_OK;
}

/* Two tokens: at fixed z_1 - z_2 each logit of the hidden layer is linear in z_1 + z_2. */
void stair_attention_ridges(const stair_fibre *fibre, double direction[2])
{
    (void)fibre;
    direction[0] = M_SQRT1_2;
    direction[1] = -M_SQRT1_2;
}

/* The rotation of the last layer: a circle for each plane (0, n), then latitudes i of density sech^(i+1). */
int stair_attention_angle_power(const stair_fibre *fibre, int k)
{
    const stair_attention *a = fibre->model->state;
    int rank = a->rank[a->layers - 1];
    if (k < rank - 1) return 1;
    k -= rank - 1;
    for (int n = rank - 1; k >= n - 1 && n > 1; n--) k -= n - 1;
    return k + 2;
}

void stair_attention_fibre_map(const stair_fibre *fibre, int chart, stair_digits digits, int n,
                               const double *u, double *z, double *weight)
{
    const stair_attention *a = fibre->model->state;
    int last = a->rank[a->layers - 1], size;
    stair_attention_layout at = stair_attention_fibre_layout(a, &size);
    stair_attention_map_table[stair_isa()](
        a, fibre->data + at.h, fibre->data + at.centre + chart * last * last, digits == STAIR_NINE_DIGITS,
        fibre->data + at.scratch, n, u, z, weight);
}

/* Only three layers and more have a layer before the last hidden one. */
static int split_rows(const stair_model *model)
{
    const stair_attention *a = model->state;
    return a->layers > 2 ? a->row[a->layers - 2] : 0;
}

/* The head: all layers but the last hidden one and the last.  With v = H u for the last hidden rows u, the
 * tail is a model of two layers. */
static void split_head(const stair_fibre *fibre, int n, const double *u, double *mix, double *weight)
{
    const stair_attention *a = fibre->model->state;
    int last = a->layers - 1, rows = a->rank[last - 1] + a->rank[last], size;
    stair_attention_layout at = stair_attention_fibre_layout(a, &size);
    stair_attention_unmix_table[stair_isa()](a, last - 1, fibre->data + at.scratch, n, u, mix, weight);
    for (int i = 0; i < n; i++) {
        double det = weight[i];
        for (int k = 1; k < rows; k++) weight[i] *= det;
    }
}

static void split_tail(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *v,
                       double *t, double *weight)
{
    const stair_attention *a = fibre->model->state;
    stair_attention tail = *a;
    int last = a->layers - 1, rank = a->rank[last], size;
    stair_attention_layout at = stair_attention_fibre_layout(a, &size);
    tail.layers = 2;
    tail.rank[0] = a->rank[last - 1];
    tail.rank[1] = rank;
    tail.row[1] = tail.rank[0];
    stair_attention_map_table[stair_isa()](
        &tail, fibre->data + at.h, fibre->data + at.centre + chart * rank * rank, digits == STAIR_NINE_DIGITS,
        fibre->data + at.scratch, n, v, t, weight);
}

const stair_split_ops stair_attention_split = {.rows = split_rows, .head = split_head, .tail = split_tail};

static int tube_rows(const stair_model *model)
{
    const stair_attention *a = model->state;
    return a->layers > 1 && model->info.noise < tuning.thin ? a->row[a->layers - 1] : 0;
}

static size_t tube_scratch(const stair_model *model)
{
    const stair_attention *a = model->state;
    size_t m = (size_t)a->tokens, layers = (size_t)a->layers;
    return STAIR_GROUP * ((layers + 2) * m * m + m * (size_t)a->rank[a->layers - 1]);
}

/* h in units of what the skip connections alone make of Z. */
static void tube_map(const stair_model *model, double *scratch, int n, const double *u, double *z, double *y,
                     double *weight)
{
    const stair_attention *a = model->state;
    double scale = pow(fabs(a->skip) + 1, a->layers - 1);
    stair_attention_tube_table[stair_isa()](a, scale, scratch, n, u, z, y, weight);
}

const stair_tube_ops stair_attention_tubes = {.rows = tube_rows, .scratch = tube_scratch, .map = tube_map};
