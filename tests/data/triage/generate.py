"""Writes training.jsonl and development.jsonl from the templates: `python3 generate.py`.

The same seed writes the same bytes under any Python from 3.11 on: only `random.Random.random` is used,
whose sequence Python keeps. development-german.jsonl and the test part (test-german.jsonl, test-english.jsonl)
were written by hand; nothing here reads or makes them.
"""

import json
import random
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent
SEED = 20261128
LANGUAGES = {"de": "german", "en": "english"}
# Renderings of each development phrase; a training phrase is rendered once.
DEVELOPMENT_RENDERINGS = 3

SLOTS = {
    "de": {
        "street": ["Lindenstraße", "Bahnhofstraße", "Goethestraße", "Am Anger", "Schulgasse", "Mühlenweg", "Ludwigsplatz"],
        "number": ["3", "7", "12a", "15", "28", "41"],
        "date": ["3. Mai", "12.04.2026", "1. Juli 2026", "24.9.", "15. Oktober 2026", "07.11.26"],
        "month": ["Januar", "März", "Juni", "September", "November"],
        "plate": ["M-AB 1234", "KA-XY 77", "B-TR 4410", "DA-LM 905", "FÜ-K 318"],
        "reference": ["2026/1184", "A-2026-00317", "514.23-887", "Nr. 99071"],
        "iban": ["DE89370400440532013000", "DE02 1203 0000 0000 2020 51"],
    },
    "en": {
        "street": ["Lindenstrasse", "Bahnhofstrasse", "Goethestrasse", "Schulgasse", "Ludwigsplatz"],
        "number": ["3", "7", "12a", "15", "28", "41"],
        "date": ["3 May", "12 April 2026", "1 July", "15 October 2026", "September 24th"],
        "month": ["January", "March", "June", "September", "November"],
        "plate": ["M-AB 1234", "KA-XY 77", "B-TR 4410", "DA-LM 905"],
        "reference": ["2026/1184", "A-2026-00317", "no. 99071"],
        "iban": ["DE89370400440532013000"],
    },
}
GREETINGS = {
    "de": ["Sehr geehrte Damen und Herren,", "Guten Tag,", "Hallo,", "Hallo liebes Team,", "Guten Morgen,", ""],
    "en": ["Dear Sir or Madam,", "Hello,", "Hi,", "Good morning,", "Dear team,", ""],
}
OPENINGS = {
    "de": ["", "", "ich habe eine Frage:", "kurze Frage:", "ich wende mich heute an Sie, denn", "es geht um Folgendes:"],
    "en": ["", "", "I have a question:", "quick question:", "I am writing because", "it is about this:"],
}
REMARKS = {
    "de": [
        "", "", "Telefonisch habe ich leider niemanden erreicht.", "Auf Ihrer Internetseite habe ich dazu nichts gefunden.",
        "Ich bin berufstätig und kann nur nachmittags.", "Für eine schnelle Antwort wäre ich dankbar.",
        "Es ist wirklich dringend.", "Sie erreichen mich unter 0171 2345678.",
    ],
    "en": [
        "", "", "I could not reach anybody by phone.", "I found nothing about it on your website.",
        "I work full time and can only come in the afternoon.", "I would be grateful for a quick answer.",
        "It is really urgent.", "You can reach me on 0171 2345678.",
    ],
}
CLOSINGS = {
    "de": ["Mit freundlichen Grüßen\n{name}", "Viele Grüße\n{name}", "Danke und Gruß, {name}", "Vielen Dank im Voraus!", ""],
    "en": ["Kind regards\n{name}", "Best wishes\n{name}", "Thanks, {name}", "Thank you in advance!", ""],
}
NAMES = ["Sabine Vogel", "Mehmet Kaya", "J. Brandt", "Olga Petrova", "Familie Huber", "Thomas Lang", "Aylin Demir", "P. Novak"]
PARAPHRASES = {
    "de": [
        ("ich möchte", "ich würde gerne"), ("welche Unterlagen brauche ich", "was muss ich alles vorlegen"),
        ("ich brauche", "ich benötige"), ("wie kann ich", "auf welchem Weg kann ich"), ("was kostet", "wie teuer ist"),
        ("ich habe", "ich hab"), ("gibt es", "existiert"), ("Was muss ich mitbringen", "Was ist mitzubringen"),
    ],
    "en": [
        ("I want to", "I would like to"), ("I need", "I require"), ("how do I", "in what way can I"),
        ("which documents do I need", "what paperwork is required"), ("do I have to", "must I"),
    ],
}
QUOTES = {
    "de": "\n\nAm 02.03.2026 um 09:14 schrieb Bürgerbüro <buergerbuero@stadt.example>:\n> Sehr geehrte Damen und Herren,\n"
    "> vielen Dank für Ihre Anfrage. Wir melden uns.\n> Ihr Bürgerbüro",
    "en": "\n\nOn Mon, 2 Mar 2026 at 09:14, Citizens' Office <office@city.example> wrote:\n> Dear Sir or Madam,\n"
    "> thank you for your message. We will be in touch.",
}
FOREIGN = {
    "de": "Sorry for my German, English is also fine for the answer.",
    "en": "Entschuldigung, mein Deutsch ist noch nicht so gut.",
}


class Writer:
    """Chances drawn from one seeded sequence."""

    def __init__(self, seed):
        self.source = random.Random(seed)

    def below(self, limit):
        return int(self.source.random() * limit)

    def one_of(self, choices):
        return choices[self.below(len(choices))]

    def chance(self, share):
        return self.source.random() < share

    def fill(self, phrase, language):
        for slot, values in SLOTS[language].items():
            while "{" + slot + "}" in phrase:
                phrase = phrase.replace("{" + slot + "}", self.one_of(values), 1)
        return phrase

    def paraphrase(self, phrase, language):
        plain, other = self.one_of(PARAPHRASES[language])
        return phrase.replace(plain, other) if self.chance(0.5) else phrase

    def mistype(self, text):
        """Swaps, drops or doubles a letter in about one word of twelve."""
        words = text.split(" ")
        for place, word in enumerate(words):
            if len(word) < 5 or not word.isalpha() or not self.chance(0.08):
                continue
            at = 1 + self.below(len(word) - 2)
            kind = self.below(3)
            if kind == 0:
                word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
            elif kind == 1:
                word = word[:at] + word[at + 1 :]
            else:
                word = word[:at] + word[at] + word[at:]
            words[place] = word
        return " ".join(words)

    def ticket(self, phrase, language):
        request = self.paraphrase(self.fill(phrase, language), language)
        greeting, opening = self.one_of(GREETINGS[language]), self.one_of(OPENINGS[language])
        remark, closing = self.one_of(REMARKS[language]), self.one_of(CLOSINGS[language])
        if not greeting and not opening:
            request = request[0].upper() + request[1:]
        line = " ".join(part for part in (opening, request, remark) if part)
        if self.chance(0.08):
            line += " " + FOREIGN[language]
        if self.chance(0.35):
            line = self.mistype(line)
        text = "\n\n".join(part for part in (greeting, line, closing.replace("{name}", self.one_of(NAMES))) if part)
        if self.chance(0.15):
            text = text.replace("\n\n", " ").replace("\n", " ").lower()
        if self.chance(0.12):
            text += QUOTES[language]
        return text


def tickets(part, renderings):
    writer = Writer(f"{SEED} {part}")
    for language, name in LANGUAGES.items():
        templates = tomllib.loads((FOLDER / f"templates-{name}.toml").read_text(encoding="utf-8"))
        for category, phrases in templates.items():
            for phrase in phrases[part]:
                for _ in range(renderings):
                    yield {"text": writer.ticket(phrase, language), "category": category, "language": language}


def main():
    for part, file, renderings in (("train", "training", 1), ("develop", "development", DEVELOPMENT_RENDERINGS)):
        with open(FOLDER / f"{file}.jsonl", "w", encoding="utf-8", newline="\n") as out:
            for ticket in tickets(part, renderings):
                out.write(json.dumps(ticket, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
