// Numbers as people read them.

/** Up to `digits` significant ones, without trailing zeros. */
export function short(value, digits = 6) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e/, 'e').replace('e+', 'e');
  const text = value.toPrecision(digits);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** Decimals that an error of this size leaves to a value: two digits of the error. */
function decimalsOf(error) {
  return Math.max(0, 1 - Math.floor(Math.log10(error)));
}

/** 0.71963 ± 0.00022: no digit that the error does not allow. */
export function withError(value, error) {
  if (!(error > 0)) return short(value, 8);
  const decimals = decimalsOf(error);
  if (decimals > (Math.abs(value) < 1e-3 ? 8 : 12) || Math.abs(value) >= 1e7) return inPowers(value, error);
  return `${value.toFixed(decimals)} ± ${error.toFixed(decimals)}`;
}

/** (2.3 ± 4.8)e-10 */
function inPowers(value, error) {
  const power = Math.floor(Math.log10(Math.max(Math.abs(value), error)));
  const unit = 10 ** power;
  const decimals = Math.min(15, decimalsOf(error / unit));
  const both = `${(value / unit).toFixed(decimals)} ± ${(error / unit).toFixed(decimals)}`;
  return power ? `(${both})e${power}` : both;
}

/** What a cell of a table shows. */
export function cell(value, error, all) {
  if (value == null) return '–';
  if (typeof value === 'string') return value;
  if (all) return String(value);
  return error > 0 ? withError(value, error) : short(value);
}

/** An option's value as it would be typed. */
export function option(value) {
  if (value === null) return '–';
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (Array.isArray(value)) return value.length ? value.map(option).join(', ') : '–';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
