"""Words as pages write them: the index and the pattern over texts agree, whatever the script, signs and line breaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.errors import UsageError
from hybrid_core.text.exact_words import WordQuery, count_words

CASES = [
    ("nation", "Nation's most-favoured-\nnation desig-\nnation national", 3),
    ("designation", "desig-\nnation x", 1),
    ("most favoured nation", "Most-favoured-nation most favoured\nnation most-\nfavoured nation", 3),
    ("apple", "Apple™ Company² apple's l’Apple pineapple", 3),
    ("strasse", "Straße STRASSE Stra-\nße", 3),
    ("massstab", "Maßstab Ma\u00dfstab maßsta", 2),
    ("schlossstraße", "Schloßstrasse Schlosßtraße Schlo\u00dfstra-\nße SCHLOSSSTRASSE", 4),
    ("sss", "sß ßs sss ßß s-\nß", 4),
    ("stoffflasche", "Stoﬀflasche Stofﬂasche Stofﬀlasche Stoff-\nﬂasche", 3),
    ("affiliate", "aﬃliate aﬀiliate afﬁliate a\ufb03liates", 3),
    ("resume", "Résumé resume re\u0301sume\u0301", 3),
    ("company's", "The company’s and company's", 2),
    ("indemnif*", "indemnify indemnification Indemni-\nfied reindemnify", 3),
    ("U.S. GAAP", "under U.S. GAAP and U.S.  GAAP, US GAAP", 2),
    ("个人信息", "处理个人信息的,个人\n信息", 2),
    ('"change of control"', "Change-of-Control Change of  control change in control", 2),
    ("未成年人", "保护未成年人，未\n成年人与成人", 2),  # 年 is also a compatibility ideograph
    ("全国人民代表大会", "全国人民代表大会常务委员会", 1),
    ("数据", "\uf969据 數據 数据", 1),
    ("金融機関", "金融機関 \uf90a融機関", 2),
    ("データ", "このデータは ﾃﾞｰﾀ テータ", 2),
    ("ﾃﾞｰﾀ", "データ ﾃﾞｰﾀ", 2),
    ("ガス", "ガス会社 ｶﾞｽ カス", 2),
    ("プログラム", "プログラム ﾌﾟﾛｸﾞﾗﾑ ブログラム", 2),
    ("テ", "テ デ ﾃ ﾃﾞ テ\u3099", 2),
    ("프로그램", "프로그램 프로그램", 2),
    ("C++", "in C++ and C+", 1),
    ("§ 312g", "§ 312g § 312ga", 1),
    ("2018", "FY2018 2018 20180 20x2018", 1),
    ("ΟΔΟΣ", "οδος οδός", 2),
    ("हिन्दी", "हिन्दी में हिन्द", 1),
    ("well—being", "well-being, well being; wellbeing", 2),
    ("no", "not now NO no", 2),
    ("mill", "The [mill](https://mill.example/mill) of Mill.", 2),
    ("mill", '![A mill](pictures/mill.png "The mill") below', 1),
    ("mill", "See [the mill][1].\n\n[1]: https://example.org/mill (The mill)\n", 1),
    ("mill", "[![mill](mill.png)](https://mill.example) mill", 2),
    ("mill", "Visible: https://mill.example, <https://mill.example/a> and table[mill](event).", 3),
    ("old mill", "The old [mill](old/mill.md) and the [old](x.md) mill", 2),
    ("water*", "[water](watermill.md) and [waters](https://water.example/a)", 2),
    ("smithson", "[Smith](https://smith.example)son", 1),
    ("https://mill.example/mill", "The [mill](https://mill.example/mill) is at https://mill.example/mill", 2),
    ("www.mill.example", "The [mill](http://www.mill.example/) is www.mill.example", 2),
    ("mill.example/mill", "The [mill](https://mill.example/mill)", 1),
    ("mill.example", "The [mill](https://mill.example/mill)", 0),
]


@pytest.mark.parametrize(("query", "text", "count"), CASES)
def test_words_and_phrases_are_found_as_people_write_them(query: str, text: str, count: int) -> None:
    wanted = WordQuery(query)
    for around in ("", " ü ", " “x” "):  # the three ways a text is read
        assert len(list(wanted.spans(text + around))) == count
    if wanted.exact and not wanted.words[0].prefix:
        assert count_words(text)[wanted.words[0].text] == count


def test_a_place_in_a_text_with_links_is_that_of_its_letters() -> None:
    text = "See ![mill](mill.png), the [old *mill*](https://mill.example) and [mill]."
    assert [text[start:end] for start, end in WordQuery("mill").spans(text)] == ["mill"] * 3
    assert [start for start, _ in WordQuery("mill").spans(text)] == [
        6,
        text.index("*mill*") + 1,
        text.index("[mill].") + 1,
    ]
    [(start, end)] = WordQuery("mill and").spans(text.replace("*", ""))
    assert text.replace("*", "")[start:end] == "mill](https://mill.example) and"


_PIECES = st.sampled_from(
    ["nation", "Nation", "favoured", "a", "I", "é", "É", "ß", "ss", "’", "'s", "-", "-\n", "- ", " ", "\n", ".", "™",
     "2018", "²", "7", "个", "年", "テ", "デ", "ﾃ", "ﾞ", "ก", "\u0301", "K", "ﬀ", "İ", "·", "_", "ς", "Σ",
     "[", "![", "](a/nation.md)", "](a)", "\n[7]: nation/a", "www."]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=12).map("".join), st.lists(_PIECES, min_size=1, max_size=4).map("".join))
def test_the_index_and_the_pattern_agree(text: str, asked: str) -> None:
    try:
        wanted = WordQuery(asked)
    except UsageError:
        return
    spans = list(wanted.spans(text))
    counts = count_words(text)
    if spans:
        for word in wanted.words:
            assert counts[word.text] or word.prefix or (wanted.address and word.text in counts)
    if wanted.exact:
        assert counts[wanted.words[0].text] == len(spans)


@pytest.mark.parametrize("query", ["", "  ", "*", "x" * 501])
def test_a_query_of_nothing_or_without_end_is_refused(query: str) -> None:
    with pytest.raises(UsageError):
        WordQuery(query)
