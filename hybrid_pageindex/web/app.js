// The page: who is signed in, where one is, and what stands around it.
import { get, post, whenOnline, whenSignedOut } from "./api.js";
import { t } from "./i18n.js";
import { later } from "./later.js";
import { Session } from "./rights.js";
import { place, tokenOf, usePlace } from "./router.js";
import "./theme.js";
import { html, render, useEffect, useRef, useState } from "./ui.js";
import { Frame } from "./components/Frame.js";
import { SignIn } from "./components/SignIn.js";

const Conversation = later(() => import("./components/conversation/Conversation.js").then((module) => module.Conversation));
const SearchView = later(() => import("./components/search/SearchView.js").then((module) => module.SearchView));
const Conversations = later(() => import("./components/conversation/Conversations.js").then((module) => module.Conversations));
const Notes = later(() => import("./components/notes/Notes.js").then((module) => module.Notes));
const Viewer = later(() => import("./components/viewer/Viewer.js").then((module) => module.Viewer));
const Home = later(() => import("./components/home/Home.js").then((module) => module.Home));
const Jobs = later(() => import("./components/Jobs.js").then((module) => module.Jobs));
const Library = later(() => import("./components/library/Library.js").then((module) => module.Library));
const Count = later(() => import("./components/exhaustive/Count.js").then((module) => module.Count));
const Compare = later(() => import("./components/exhaustive/Compare.js").then((module) => module.Compare));
const DocumentMap = later(() => import("./components/map/Map.js").then((module) => module.DocumentMap));
const Settings = later(() => import("./components/settings/Settings.js").then((module) => module.Settings));

const REST = 1500; // ms in which the first view has the line for itself
const token = tokenOf(location.hash);

async function signIn() {
  const session = token && (await post("/session", { token }).catch(() => null));
  return session || get("/session").catch((error) => (error.status === 401 ? null : { offline: true }));
}

/** @param {import("./router.js").Place} here */
function view({ name, parts, given }) {
  if (name === "doc") {
    const [library, doc, , page] = parts;
    return html`<${Viewer} key=${library + "/" + doc} library=${library} doc=${doc} page=${Number(page) || 0}
      highlight=${given.get("hl") ?? undefined} visit=${given} />`;
  }
  if (name === "map") return html`<${DocumentMap} key=${parts.join("/")} library=${parts[0]} doc=${parts[1]} given=${given} />`;
  if (name === "conversation") return html`<${Conversation} key=${parts[0]} id=${parts[0]} />`;
  if (name === "conversations") return html`<${Conversations} />`;
  if (name === "notes") return html`<${Notes} />`;
  if (name === "search") return html`<${SearchView} given=${given} />`;
  if (name === "count") return html`<${Count} given=${given} />`;
  if (name === "compare") return html`<${Compare} given=${given} />`;
  if (name === "") return html`<${Home} />`;
  if (name === "library") return html`<${Library} key=${parts[0]} name=${parts[0]} />`;
  if (name === "jobs") return html`<${Jobs} />`;
  if (name === "settings") return html`<${Settings} part=${parts[0]} />`;
  return html`<div class="view stack"><h1>${t("nothing_here")}</h1><p><a href="#/">${t("library.home")}</a></p></div>`;
}

function App() {
  const here = usePlace();
  const [session, setSession] = useState(/** @type {any} */ (undefined));
  const [online, setOnline] = useState(true);
  const inside = useRef(false);
  inside.current ||= Boolean(session?.grants);
  useEffect(() => whenOnline(setOnline), []);
  useEffect(() => whenSignedOut(() => setSession(null)), []);
  useEffect(() => void ((session === undefined || (online && session?.offline)) && signIn().then(setSession)), [online]);
  if (session === undefined) return null;
  // What views keep of who was here before goes with the page.
  if (session === null) return html`<${SignIn} done=${inside.current ? () => location.reload() : setSession} />`;
  return html`<${Session.Provider} value=${session}><${Frame} here=${here} online=${online}>${view(here)}<//><//>`;
}

// The other views are there before one of them is opened.
if (place().name) Viewer.ahead();
else setTimeout(Viewer.ahead, REST);
render(html`<${App} />`, /** @type {Element} */ (document.getElementById("app")));
