// The page: a section for each file, with what it says of itself, its plots and its tables.
import uPlotStyle from 'uplot/dist/uPlot.min.css';
import { element } from './dom.js';
import { option } from './format.js';
import { panel, redrawAll } from './panel.js';
import { Table, printAll } from './table.js';
import { themeSwitch } from './theme.js';

/* global UPLOT_LICENCE */

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element('textarea', {}, text);
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  button.textContent = 'copied';
  setTimeout(() => (button.textContent = 'copy'), 1200);
}

function commandLine(line) {
  const button = element('button', { type: 'button', onclick: () => copy(line, button) }, 'copy');
  return element('div.line', {}, element('pre', { tabindex: '0' }, element('code', {}, line)), button);
}

/** A text that may be broken behind its commas. */
function breakable(text) {
  return text.split(/(?<=,)/).flatMap((part, k) => (k ? [element('wbr'), part] : [part]));
}

function facts(file) {
  const seed = file.options && file.options.seed;
  const known = [['command', file.command], ['model', file.model], ['seed', seed], ['stair', file.stair]];
  return element('dl.facts', {}, ...known.filter(([, value]) => value != null).map(([name, value]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, ...breakable(String(value))))));
}

function options(given) {
  const items = Object.entries(given || {});
  if (!items.length) return null;
  return element('details.options', {}, element('summary', {}, `Options (${items.length})`),
    element('dl', {}, ...items.flatMap(([name, value]) =>
      [element('dt', {}, name), element('dd', {}, option(value))])));
}

function section(file, number) {
  const made = element('section.file', { id: `file-${number}` }, element('h2', {}, file.file), facts(file));
  if (file.line) made.append(commandLine(file.line));
  made.append(...[options(file.options)].filter(Boolean));
  for (const note of file.notes || []) made.append(element('p.note', {}, note));
  for (const table of file.tables) {
    made.append(element('div.plots', {}, ...table.plots.map((planned) => panel(table, planned))));
    made.append(new Table(table).element);
  }
  return made;
}

function contents(files) {
  if (files.length < 2) return null;
  return element('nav', { 'aria-label': 'Files' }, ...files.map((file, k) =>
    element('a', { href: `#file-${k}` }, file.file)));
}

function start() {
  const files = JSON.parse(document.getElementById('data').textContent);
  document.head.append(element('style', {}, uPlotStyle));
  document.querySelector('header').append(themeSwitch(redrawAll));
  document.getElementById('main').replaceChildren(...[contents(files)].filter(Boolean), ...files.map(section));
  document.getElementById('footer').append(element('details', {}, element('summary', {}, 'Licences'),
    element('p', {}, 'Plots are drawn by uPlot.'), element('pre', {}, UPLOT_LICENCE)));
  addEventListener('beforeprint', () => printAll(true));
  addEventListener('afterprint', () => printAll(false));
}

start();
