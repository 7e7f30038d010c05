"""Generate test pages with known words in five languages, as clean pictures and as poor scans or faxes."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image

DPI = 200
TEXTS = {
    "en": (
        "Terms of delivery",
        "The supplier delivers the goods free of all charges to the yard named in the order, no later than the "
        "fourteenth working day after it has been confirmed in writing.",
        "Where a part of the goods is missing or damaged, the buyer gives notice of it within eight days; otherwise "
        "the consignment counts as accepted. Hidden defects may be notified until two years have passed.",
        "Invoices are due thirty days after receipt. For payment within ten days a discount of 2.5 % is granted, which "
        "does not apply to freight, customs duties or packaging lent by the supplier.",
        "Sand, gravel and crushed stone are weighed on the calibrated scale at gate 7; the weight shown on its ticket "
        "is decisive, and differences below 150 kg per load give no right to a correction.",
        "Either party may end this agreement with three months' notice to the end of a quarter. Notices must be signed "
        "by hand or sent by registered mail to the address given above.",
    ),
    "de": (
        "Lieferbedingungen",
        "Der Lieferant übergibt die Ware frei Haus an der in der Bestellung genannten Baustelle, spätestens jedoch am "
        "vierzehnten Werktag nach der schriftlichen Auftragsbestätigung.",
        "Fehlt ein Teil der Ware oder ist er beschädigt, so rügt der Käufer dies innerhalb von acht Tagen; andernfalls "
        "gilt die Lieferung als genehmigt. Versteckte Mängel können bis zu zwei Jahre lang gerügt werden.",
        "Rechnungen sind dreißig Tage nach Zugang fällig. Bei Zahlung binnen zehn Tagen werden 2,5 % Skonto gewährt, "
        "jedoch nicht auf Fracht, Zölle und leihweise überlassene Verpackung.",
        "Sand, Kies und Schotter werden auf der geeichten Waage an Tor 7 gewogen; maßgeblich ist das Gewicht auf dem "
        "Wiegeschein. Abweichungen unter 150 kg je Fuhre begründen keinen Anspruch auf Berichtigung.",
        "Jede Partei kann diesen Vertrag mit einer Frist von drei Monaten zum Ende eines Vierteljahres kündigen. Die "
        "Kündigung bedarf der eigenhändigen Unterschrift oder eines Einschreibens an die oben genannte Adresse.",
    ),
    "fr": (
        "Conditions de livraison",
        "Le fournisseur livre la marchandise franco de port au chantier désigné dans la commande, au plus tard le "
        "quatorzième jour ouvré après sa confirmation écrite.",
        "Si une partie de la marchandise manque ou a été endommagée, l'acheteur le signale dans un délai de huit jours "
        "; à défaut, la livraison est réputée acceptée. Les vices cachés peuvent être dénoncés pendant deux années.",
        "Les factures sont payables à trente jours après réception. Un escompte de 2,5 % est accordé pour tout "
        "règlement sous dix jours, à l'exception du fret, des droits de douane et des emballages prêtés.",
        "Le sable, le gravier et la pierre concassée sont pesés sur la bascule étalonnée de la porte 7 ; le poids "
        "indiqué sur le ticket fait foi, et un écart de moins de 150 kg ne donne lieu à aucune rectification.",
        "Chaque partie peut résilier le présent contrat moyennant un préavis de trois mois à la fin d'un trimestre. "
        "Le préavis doit être signé à la main ou envoyé par lettre recommandée à l'adresse mentionnée ci-dessus.",
    ),
    "zh": (
        "供货条款",
        "供货方应当自订单书面确认之日起十四个工作日内,将货物免费运送至订单所列的工地,运费、装卸费均由供货方承担。",
        "货物短少或者损坏的,买受人应当在八日内通知供货方;逾期未通知的,视为验收合格。隐蔽瑕疵可以在两年内提出异议。",
        "发票自收到之日起三十日内付款。十日内付清的,给予百分之二点五的折扣,但运费、关税以及借用的包装物除外。",
        "砂、砾石和碎石在七号门的检定地磅上称重,以磅单所载重量为准;每车误差不足一百五十公斤的,不予更正。",
        "任何一方均可以提前三个月书面通知对方,于季度末终止本合同。通知应当由本人签字,或者以挂号信寄至上述地址。",
        "因履行本合同发生的争议,由双方协商解决;协商不成的,提交供货方所在地有管辖权的人民法院审理。",
    ),
    "ja": (
        "納入条件",
        "供給者は、注文が書面で確認された日から十四営業日以内に、注文書に記載された現場へ商品を運賃無料で納入する。",
        "商品の一部が不足し、または損傷しているときは、買主は八日以内にその旨を通知しなければならない。通知がない場合は検収済みとみなす。",
        "請求書は受領後三十日以内に支払う。十日以内に支払われたときは二・五パーセントの割引を認めるが、運賃、関税および貸与された梱包には適用しない。",
        "砂、砂利および砕石は、七番ゲートの検定済みの秤で計量し、計量票に示された重量を基準とする。一台につき百五十キロ未満の差は訂正しない。",
        "いずれの当事者も、三か月前に通知することにより、四半期の末日をもって本契約を解除できる。通知には自筆の署名を要する。",
        "本契約に関する紛争は、まず当事者間の協議により解決し、協議が調わないときは供給者の所在地を管轄する裁判所に付する。",
    ),
}
COLUMNS = ("Item", "Unit", "2023", "2024", "2025", "Change")
GOODS = ("Washed sand", "Gravel 8/16", "Crushed stone", "Quick lime", "Cement CEM II", "Roof tiles", "Drain pipes",
         "Kerb stones", "Steel mesh", "Insulation", "Plywood", "Anchors", "Paving slabs", "Bitumen", "Geotextile",
         "Top soil", "Ready-mix C25", "Bricks", "Mortar", "Sealant")  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A grey PGM picture, and the words that it shows."""

    name: str
    language: str
    kind: str  # text, table
    state: str  # clean, poor
    image: bytes
    words: str


def known_pages() -> list[KnownPage]:
    """Return pages with text in five languages and with tables, clean and poor.

    The pictures are the same at each call.
    """
    pages = []
    for number, (language, text) in enumerate(TEXTS.items()):
        title, *paragraphs = text
        html = f"<h2>{title}</h2>" + "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
        pages += _both(language, "text", html, " ".join(text), number)
    for number, seed in enumerate((5, 6)):
        html, words = _table(seed)
        pages += _both("en", f"table {number + 1}", html, words, 10 + number)
    return pages


def _both(language: str, kind: str, html: str, words: str, seed: int) -> list[KnownPage]:
    import pymupdf  # here, behind the packages that switch its libraries' telemetry off

    document = pymupdf.open()
    page = document.new_page(width=595, height=842)
    size = 8 if kind.startswith("table") else 11
    css = f"body {{font-family: serif; font-size: {size}pt}} td, th {{padding: 1pt 7pt; text-align: right}}"
    page.insert_htmlbox((60, 60, 535, 780), html, css=css)
    image = page.get_pixmap(dpi=DPI, colorspace=pymupdf.csGRAY, alpha=False).tobytes("pgm")
    name = f"{language} {kind}"
    return [
        KnownPage(f"{name} clean", language, kind, "clean", image, words),
        KnownPage(f"{name} poor", language, kind, "poor", _poor(image, seed), words),
    ]


def _table(seed: int) -> tuple[str, str]:
    draw = np.random.default_rng(seed)
    rows = [COLUMNS]
    for name in GOODS:
        a, b, c = (int(n) for n in draw.integers(1_000, 900_000, 3))
        change = f"{(c - b) / b * 100:+.1f} %"
        rows.append((name, str(draw.choice(["t", "m", "pcs", "kg"])), f"{a:,}", f"{b:,}", f"({c:,})", change))
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<h3>Prices of goods</h3><table>{cells}</table>", "Prices of goods " + " ".join(map(" ".join, rows))


def _poor(image: bytes, seed: int) -> bytes:
    """Return a poor copy: three quarters of the resolution, rotated by 0.7 degrees, noisy, and saved as JPEG at quality
    40.
    """
    draw = np.random.default_rng(seed)
    picture = Image.open(io.BytesIO(image))
    small = picture.resize((picture.width * 11 // 20, picture.height * 11 // 20), Image.Resampling.BILINEAR)
    small = small.rotate(0.7, Image.Resampling.BILINEAR, fillcolor=255)
    dots = np.asarray(small, dtype=np.float32) * 0.72 + 45
    dots += draw.normal(0, 16, dots.shape)
    packed = io.BytesIO()
    Image.fromarray(dots.clip(0, 255).astype(np.uint8)).save(packed, "JPEG", quality=40)
    shown = Image.open(packed).resize(picture.size, Image.Resampling.BICUBIC).convert("L")
    return b"P5\n%d %d\n255\n" % shown.size + shown.tobytes()
