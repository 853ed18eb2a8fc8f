/* All figures, in the order in which `stair figure all` makes them. */
#include "figure.h"

extern const figure_kind figure_staircase, figure_1_left, figure_1_left_prenoise, figure_1_right,
    figure_1_right_prenoise, figure_2_top, figure_2_top_prenoise, figure_2_bottom, figure_3_left,
    figure_3_left_prenoise, figure_3_right, figure_5, figure_5_prenoise, figure_phase_diagram,
    figure_thresholds, figure_free_entropy, figure_sgd_bayes, figure_finite_size;

const figure_kind *const figure_kinds[] = {
    &figure_staircase,
    &figure_1_left,
    &figure_1_left_prenoise,
    &figure_1_right,
    &figure_1_right_prenoise,
    &figure_2_top,
    &figure_2_top_prenoise,
    &figure_2_bottom,
    &figure_3_left,
    &figure_3_left_prenoise,
    &figure_3_right,
    &figure_5,
    &figure_5_prenoise,
    &figure_phase_diagram,
    &figure_thresholds,
    &figure_free_entropy,
    &figure_sgd_bayes,
    &figure_finite_size,
    NULL,
};
