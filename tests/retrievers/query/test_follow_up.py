"""Follow-ups without a model: which questions point back, and with whose words they are searched for."""

from __future__ import annotations

import pytest

from retrievers.query.intent import points_back, with_words_before


@pytest.mark.parametrize(
    ("before", "question", "searched"),
    [
        # whom: names and times of the question before
        ("What was 3M's operating margin in FY2021?", "What drove its change as of FY2022?", {"3M's", "FY2022"}),
        ("What is the deductible of the Northwind plan?", "Does it cover surgery?", {"Northwind", "surgery"}),
        ("What were Pfizer's revenues in Q2 2023?", "Why did they fall?", {"Pfizer's", "revenues", "2023"}),
        # what: of a question that names only another or another time
        ("What major acquisitions did Amcor make?", "And Best Buy?", {"Best", "Buy", "acquisitions"}),
        ("How much total assets did Costco have at the end of FY2020?", "And at the end of FY2021?",
         {"Costco", "assets", "FY2021"}),
        ("What is the effective tax rate of Amex in FY2022?", "How much has that changed since FY2021?",
         {"Amex", "tax", "rate"}),
        ("How much debt did Microsoft have in FY2022?", "Has it increased between then and FY2023?",
         {"Microsoft", "debt", "FY2023"}),
        # left out without a word that points back
        ("What was Best Buy's revenue in Q2 of FY2024?", "Which category performed the best?",
         {"Best", "Buy's", "FY2024"}),
        ("What were Pfizer's revenues in Q2 2023?", "Which region had the biggest drop?", {"Pfizer's", "region"}),
        ("When was the 1918 Spanish Influenza epidemic?", "How many people were infected?", {"Spanish", "Influenza"}),
        ("How do I record a program?", "How do I stop that?", {"record", "program"}),
        # German
        ("Wer wird als Flüchtling anerkannt?", "Was setzt das voraus?", {"Flüchtling", "anerkannt"}),
        ("Was ist ein Darlehen nach dem BGB?", "Was sind die Voraussetzungen dafür?", {"Darlehen", "BGB"}),
        ("Was ist eine Nebenintervention?", "Wie lange kann sie erfolgen?", {"Nebenintervention"}),
        ("Wann sind Verzugszinsen zu zahlen?", "Und woraus ergibt sich die Grundlage dafür?", {"Verzugszinsen"}),
    ],
)  # fmt: skip
def test_a_follow_up_is_searched_for_with_the_words_it_means(before: str, question: str, searched: set[str]) -> None:
    assert points_back(question, before)
    made = with_words_before(question, before)
    assert made.startswith(question) and searched <= set(made.replace("?", " ").split()), made


@pytest.mark.parametrize(
    ("before", "question", "absent"),
    [
        ("How much total assets did Costco have in FY2020?", "And in FY2021?", "FY2020"),
        ("What were Pfizer's revenues in 2022?", "And in 2023?", "2022"),
        ("What is Smart View?", "And Remote Support?", "Smart"),
        ("Was kostet das und wie lange dauert die Lieferung?", "Was gilt für sie?", "und"),
    ],
)
def test_what_the_new_question_replaces_is_not_searched_for(before: str, question: str, absent: str) -> None:
    assert absent not in with_words_before(question, before).removeprefix(question).split()


@pytest.mark.parametrize(
    ("before", "question"),
    [
        ("What is SARS?", "What is superspreading?"),
        ("What is Pfizer's revenue?", "What is the name of the tool from ImageMagick that resizes images?"),
        ("What is Pfizer's revenue?", "Which segments of Microsoft grew the most in 2023?"),
        ("How do I change the picture mode?", "How do I delete an app?"),
        ("Was ist ein Darlehen nach dem BGB?", "Wo ist die Ohrenkennzeichnung von Tieren festgelegt?"),
        ("Was ist ein Darlehen?", "Welche Vorschriften sind zur Bemessung von Vermögensfreigrenzen maßgebend?"),
        ("Was ist ein Darlehen?", "Welche Pflichten hat ein Mieter, wenn er auszieht?"),
        ("Was ist ein Darlehen?", "Welche Vorschriften müssen verletzt sein, damit ein Urteil nicht gilt?"),
        ("Qu'est-ce qu'un bail ?", "Quand la mairie de Lyon a-t-elle ouvert ?"),
        ("What did Pfizer pay?", "How many states in the U.S. have reported cases of COVID-19?"),
    ],
)
def test_a_question_that_begins_another_subject_stands_alone(before: str, question: str) -> None:
    assert not points_back(question, before)
