// A plot with what belongs to it: caption, switches, menu of axes, and the legend that hides series.
import { element, toggle } from './dom.js';
import { Plot } from './plot.js';
import { MOST_SERIES, columnOf, errorOf, isNumeric } from './series.js';

const plots = [];
window.stairPlots = plots; // for the console, and for tests
export const redrawAll = () => plots.forEach((plot) => plot.draw());

/** planned: a plot as the page's data has it */
export function panel(table, planned) {
  const choice = {
    x: planned.x,
    y: planned.y,
    group: planned.group,
    logX: planned.log.includes('x'),
    logY: planned.log.includes('y'),
    lines: planned.style === 'lines',
    bars: true,
  };
  const plot = new Plot(table, choice);
  plots.push(plot);
  const legend = element('div.legend', { role: 'group', 'aria-label': 'Series' });
  const renew = () => {
    plot.hidden.clear();
    plot.update();
    fillLegend(legend, plot);
  };
  const change = (name, how = renew) => (value) => {
    choice[name] = value;
    how();
  };
  const tools = element('div.tools', {},
    element('button.reset', { type: 'button', onclick: () => plot.reset(), title: 'Escape, or a double click' }, 'whole'),
    toggle('log x', choice.logX, change('logX'), { title: 'Logarithmic axis x' }),
    toggle('log y', choice.logY, change('logY'), { title: 'Logarithmic axis y' }),
    toggle('lines', choice.lines, change('lines', () => plot.draw())),
    toggle('errors', choice.bars, change('bars', () => plot.draw()), { title: 'Error bars' }));
  fillLegend(legend, plot);
  return element('figure', {},
    element('figcaption', {}, element('span', {}, planned.title), tools),
    plot.element, legend, menu(table, choice, renew));
}

function fillLegend(legend, plot) {
  const { series, left } = plot.made;
  legend.replaceChildren(...series.map((s) =>
    toggle([element(`i.s${s.colour % 8}.d${s.dash % 4}`), s.label], true, (shown) => plot.toggle(s.label, shown))));
  if (left) legend.append(element('span.note', {}, `${left} more series are left out: no more than ${MOST_SERIES}`));
  legend.hidden = series.length < 2;
}

// ---- the menu of axes --------------------------------------------------------------------------------

function menu(table, choice, renew) {
  const names = table.columns.map((column) => column.name);
  const numeric = names.filter((name) => isNumeric(columnOf(table, name)));
  const x = select(names, choice.x, (name) => {
    choice.x = name;
    renew();
  });
  const group = select(['(none)', ...names], choice.group[0] || '(none)', (name) => {
    choice.group = name === '(none)' ? [] : [name];
    renew();
  });
  if (choice.group.length > 1) {
    group.prepend(element('option', { selected: true }, choice.group.join(', ')));
    group.selectedIndex = 0;
  }
  return element('details.axes', {},
    element('summary', {}, 'Axes'),
    element('div', {},
      element('label', {}, 'x ', x),
      element('label', {}, 'series by ', group),
      element('fieldset', {}, element('legend', {}, 'y'), ...numeric.map((name) => pick(table, choice, name, renew)))));
}

function select(names, chosen, change) {
  const made = element('select', { onchange: () => change(made.value) },
    ...names.map((name) => element('option', { selected: name === chosen, value: name }, name)));
  return made;
}

function pick(table, choice, name, renew) {
  const box = element('input', {
    type: 'checkbox',
    checked: choice.y.some((y) => y.column === name),
    onchange: () => {
      choice.y = choice.y.filter((y) => y.column !== name);
      if (box.checked) choice.y.push({ column: name, error: errorOf(table, name) });
      renew();
    },
  });
  return element('label', {}, box, ` ${name}`);
}
