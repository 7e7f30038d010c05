import { html, useEffect, useState } from "../../ui.js";
import { t } from "../../i18n.js";
import { Icon, IconButton } from "./Icons.js";

function PageNumber({ page, pages, onPage }) {
  const [typed, setTyped] = useState(String(page));
  useEffect(() => setTyped(String(page)), [page]);
  const go = (event) => {
    event.preventDefault();
    const number = Number.parseInt(typed, 10);
    if (number) onPage(number);
    else setTyped(String(page));
  };
  return html`<form class="page-number" onSubmit=${go}>
    <input class="go-to" inputmode="numeric" aria-label=${t("viewer.go_to")} value=${typed} size=${Math.max(String(pages).length, 2)}
      onInput=${(event) => setTyped(event.target.value)} onFocus=${(event) => event.target.select()} onBlur=${go} />
    <span class="of">/ ${pages}</span>
  </form>`;
}

/** What can be done with the page that is shown. */
export function Toolbar({ info, page, view, tables, act, zoom, strip, pair, contents, embedded }) {
  return html`<div class="toolbar" role="toolbar" aria-label=${t("viewer.tools")}>
    <div class="group">
      <${IconButton} icon="sources" label=${t("viewer.contents")} keys="o" pressed=${contents} onClick=${act.contents} />
      ${!embedded && html`<a class="icon-button" href=${act.map} title=${t("map.open")} aria-label=${t("map.open")}><${Icon} name="map" /></a>`}
      <${IconButton} icon="strip" label=${t("viewer.pages")} keys="s" pressed=${strip} onClick=${act.strip} />
    </div>
    <div class="group">
      <${IconButton} icon="back" label=${t("viewer.previous")} keys="←" disabled=${page <= 1} onClick=${() => act.turnBy(-1)} />
      <${PageNumber} page=${page} pages=${info.pages} onPage=${act.page} />
      <${IconButton} icon="next" label=${t("viewer.next")} keys="→" disabled=${page >= info.pages} onClick=${() => act.turnBy(1)} />
    </div>
    <div class="group zoom">
      <${IconButton} icon="minus" label=${t("viewer.smaller")} keys="-" onClick=${() => act.zoom(-1)} />
      <span class="percent" aria-live="off">${zoom} %</span>
      <${IconButton} icon="plus" label=${t("viewer.larger")} keys="+" onClick=${() => act.zoom(1)} />
      <${IconButton} icon="width" label=${t("viewer.fit_width")} keys="w" onClick=${() => act.fit("width")} />
      <${IconButton} icon="whole" label=${t("viewer.fit_page")} keys="0" onClick=${() => act.fit("page")} />
      ${pair !== undefined && html`<${IconButton} icon="pair" label=${t("viewer.two_pages")} keys="p" pressed=${pair} onClick=${act.pair} />`}
      <${IconButton} icon="rotate" label=${t("viewer.rotate")} keys="r" onClick=${act.rotate} />
    </div>
    <div class="group views" role="group" aria-label=${t("viewer.view")}>
      ${["page", "text", "tables"].map((one) => html`<button type="button" class="view" aria-pressed=${String(view === one)} onClick=${() => act.view(one)}
        disabled=${one === "tables" && !tables}>${t(`viewer.view_${one}`)}${one === "tables" && tables ? html` <span class="count">${tables}</span>` : null}</button>`)}
    </div>
    <div class="group last">
      <${IconButton} icon="find" label=${t("viewer.find")} keys="/" onClick=${act.find} />
      <${IconButton} icon="cite" label=${t("viewer.cite")} keys="c" onClick=${act.cite} />
      <${IconButton} icon="note" label=${t("viewer.keep")} keys="k" onClick=${act.keep} />
      <${IconButton} icon="highlight" label=${t("viewer.highlight")} keys="h" onMouseDown=${(event) => event.preventDefault()} onClick=${act.mark} />
      ${act.marked && html`<a class="icon-button" href=${`${act.original}?highlights=true`} download title=${t("viewer.original_highlights")} aria-label=${t("viewer.original_highlights")}><${Icon} name="export" /></a>`}
      <a class="icon-button" href=${act.original} download title=${t("viewer.original")} aria-label=${t("viewer.original")}><${Icon} name="download" /></a>
      ${!embedded && html`<${IconButton} icon="keys" label=${t("viewer.keys")} keys="?" onClick=${act.keys} />`}
    </div>
  </div>`;
}
