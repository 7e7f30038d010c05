"""The language of a text by its commonest words."""

from __future__ import annotations

import pytest

from hybrid_core.text.prose import common_language, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I clean the filter of the pump?", "English"),
        ("Is Admin an Amazon Forecast reserved field name?", "English"),
        ("Is an agent an admin?", "English"),
        ("Is a pump an order?", "English"),
        ("Wann verjährt der Anspruch auf Auskunft?", "German"),
        ("Quelle est la durée du contrat et qui paie les frais?", "French"),
        ("¿Cuál es el plazo para presentar la solicitud y quién la firma?", "Spanish"),
        ("Qual è la durata del contratto e chi paga?", "Italian"),
        ("租金是多少？", "Chinese"),
        ("賃料はいくらですか。", "Japanese"),
        ("Сколько стоит аренда?", "Russian"),
        ("Corvane 10-K 2023", ""),
        ("", ""),
        ("418.2 390.1 7.2%", ""),
    ],
)
def test_common_words_and_scripts_tell_a_language(text: str, language: str) -> None:
    assert language_of(text) == language


def test_most_of_several_texts_decide() -> None:
    german, english = "Der Mieter zahlt die Miete und das Wasser.", "The tenant pays the rent and the water."
    assert common_language([german, german, english]) == "German"
    assert (
        common_language([german, english]) == common_language([]) == common_language(["1 2 3", german, english]) == ""
    )
