/**
 * Starts the page. It imports the rest only when it runs, so that it can say what fails: otherwise
 * an old browser would show "Connecting" for ever.
 */
const root = /** @type {HTMLElement} */ (document.querySelector('#app'));

/**
 * A browser that was started under the locale C or POSIX names a language that is none, such as
 * "en-US@posix", and uPlot throws when it formats numbers in it.
 */
function replaceBadLanguage() {
  try {
    new Intl.NumberFormat(navigator.language).format(0);
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en' });
  }
}

try {
  replaceBadLanguage();
  const { startPage } = await import('./page.js');
  startPage(root);
} catch (error) {
  root.textContent = `The page cannot start in this browser (${String(error)}). In a terminal, "pointsman top" shows the same.`;
  throw error;
}
