"""The texts of `texts.json`: what people write to a town hall, in German and English, and what breaks tokenizers.

Deterministic: `random.random` gives the same numbers for a seed in every release of Python.
"""

import random

SEED = 20

GERMAN = {
    "matter": [
        "einen Personalausweis", "den Reisepass", "eine Meldebescheinigung", "das Wohngeld", "eine Gewerbeanmeldung",
        "die Hundesteuer", "einen Bewohnerparkausweis", "das Elterngeld", "einen Kita-Platz", "die Baugenehmigung",
        "ein Führungszeugnis", "die Sperrmüllabholung", "eine Grabstelle", "einen Schwerbehindertenausweis", "eine Geburtsurkunde",
    ],
    "place": [
        "im Bürgerbüro", "am Schalter 4", "in der Zulassungsstelle", "im Rathaus Süd", "beim Standesamt",
        "in der Straßenverkehrsbehörde", "im Amt für Wohnen und Migration", "auf dem Wertstoffhof",
    ],
    "time": [
        "am Dienstag um 9:30 Uhr", "ab dem 1. Januar 2025", "bis Freitag, 17 Uhr", "außerhalb der Öffnungszeiten",
        "noch vor den Sommerferien", "innerhalb von vierzehn Tagen",
    ],
    "fault": [
        "eine defekte Straßenlaterne", "ein tiefes Schlagloch", "eine überquellende Mülltonne", "wild abgelegter Sperrmüll",
        "ein umgestürzter Baum", "eine beschmierte Unterführung", "ein verstopfter Gully", "Lärm von einer Baustelle",
    ],
    "street": [
        "in der Lindenstraße 12a", "an der Ecke Goethestraße/Bahnhofsplatz", "vor der Grundschule am Ährenfeld",
        "auf dem Radweg Richtung Süßen", "am Übergang zur Größer Brücke",
    ],
    "sentence": [
        "Wie beantrage ich {matter} {place}?",
        "Ich brauche {matter} {time}.",
        "Welche Unterlagen brauche ich für {matter}?",
        "Guten Tag, {street} ist seit gestern {fault}.",
        "Bitte melden Sie sich {time} {place}.",
        "Kann ich {matter} auch online beantragen oder muss ich {place} erscheinen?",
        "Was kostet {matter}? Bisher waren es 37,00 €, für Personen unter 24 Jahren 22,80 €.",
        "Der Antrag auf {matter} wurde abgelehnt, weil {place} Angaben fehlten.",
        "Ich habe {street} {fault} gesehen und bitte um Abhilfe {time}.",
        "Vielen Dank für Ihre Frage, wie man {matter} bekommt; wir antworten {time}.",
        "Warum muss ich auf {matter} so lange warten?",
        "Termin {time} {place}",
    ],
}

ENGLISH = {
    "matter": [
        "an identity card", "a passport", "a certificate of residence", "housing benefit", "a trade licence",
        "the dog tax", "a residents' parking permit", "parental allowance", "a nursery place", "planning permission",
        "a police clearance", "bulky waste collection", "a burial plot", "child benefit", "a civil wedding",
    ],
    "place": [
        "at the citizens' office", "at counter 4", "at the vehicle registration office", "in the south town hall",
        "at the registry", "with the road traffic authority", "in the migration department", "at the recycling yard",
    ],
    "time": [
        "on Tuesday at 9:30 a.m.", "from 1 January 2025", "by Friday, 5 p.m.", "outside opening hours",
        "before the summer holidays", "within fourteen days",
    ],
    "fault": [
        "a broken street lamp", "a deep pothole", "an overflowing bin", "illegally dumped furniture", "a fallen tree",
        "graffiti in the underpass", "a blocked drain", "noise from a building site",
    ],
    "street": [
        "in 12a Linden Street", "at the corner of Station Square", "in front of the primary school",
        "on the cycle path towards the river", "by the crossing near the old bridge",
    ],
    "sentence": [
        "How do I apply for {matter} {place}?",
        "I would like to collect {matter} {time}.",
        "Which documents do I need for {matter}?",
        "Hello, there has been {fault} {street} since yesterday.",
        "Please come to us {time}, we are {place}.",
        "Can I request {matter} online, or do I have to appear {place}?",
        "The fee for {matter} is €37.00, or €22.80 for people under 24.",
        "The application for {matter} was refused because details were missing {place}.",
        "I saw {fault} {street} and ask you to mend it {time}.",
        "Thank you for writing about {matter}; we shall answer {time}.",
        "Why does {matter} take so long?",
        "Appointment {time} {place}",
    ],
}

# One character, one word, and short forms of each kind.
SHORT = [
    "a", "A", "Ä", "ß", "ẞ", "?", "1", "€", "ja", "nein", "hello", "Rathaus", "Straße", "STRASSE", "Müll", "tax", "PDF",
    "e-mail", "Bürger:innen", "Kfz", "Str.", "§ 15", "z. B.", "24/7", "100 %", "C++", "C#", "<html>", "&amp;", "\\n", "NULL",
    "unaffordable", "Donaudampfschifffahrtsgesellschaft", "Rindfleischetikettierungsüberwachungsaufgabengesetz",
]
EMOJI = [
    "🙂", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "1️⃣", "❤️", "⚠ Achtung ⚠️", "Danke 🙏🏻!", "🗑️ Müll 🗑️ Müll 🗑️",
    "Termin 📅 um 🕤 im 🏛️", "Where is the 🚌? 🤷🏼‍♂️", "🎉🎉🎉🎉🎉🎉🎉🎉", "ok👌ok", "\U0001F9D1\u200d\U0001F4BB works from home",
]
# Decomposed, stacked and dangling marks; ligatures, full width, other forms that normalisation changes.
MARKS = [
    "Mu\u0308llabfuhr in der Stra\u00dfe", "Cafe\u0301 am Markt", "re\u0301sume\u0301", "A\u030angstro\u0308m", "n\u0303",
    "\u0301", "\u0308\u0301", "a\u0300\u0301\u0302\u0303\u0304\u0305", "Z\u0351\u036b\u0343a\u0363\u0328l\u034dg\u0347o\u031d",
    "\u1e9b\u0323", "e\u0323\u0302 e\u0302\u0323 \u1ec7", "o\u0308\u200dffnen", "\ufb01nden \ufb02ie\u00dfen \ufb00",
    "\uff32\uff41\uff54\uff48\uff41\uff55\uff53 \uff11\uff12\uff13", "\u2460 \u2461 \u00bd \u00b2 \u2122", "\u0130stanbul \u0131\u015f\u0131k",
    "Stra\u0308\u00dfe und Fu\u0308\u00dfe", "\u212b \u2126 \u00b5", "\u1100\u1161\u11a8 \uac01",
]
# Characters without a glyph, odd blanks, replacement and private characters.
CONTROL = [
    "\u0007", "\u0000", "a\u0000b", "Antrag\u0007abgelehnt", "eins\tzwei\tdrei", "Zeile eins\nZeile zwei\r\nZeile drei", " ",
    "   \n\t ", "  vorne und hinten  ", "\u00a0", "fest\u00a0verbunden", "weich\u00adtrennen", "null\u200bbreit", "\ufeffBOM am Anfang",
    "\u202eumgekehrt\u202c", "\u2028Zeile\u2029Absatz", "\ufffd", "\ue000 privat \ue001", "\u001b[31mrot\u001b[0m", "\u0085", "\u3000",
    "x\u200c\u200dy", "\u0001\u0002\u0003", "tab\u000bfeed\u000c", "\u2066isoliert\u2069", "\uffff \U0010ffff", "\u180e\u2060",
]
SCRIPTS = [
    "東京の区役所で住民票を申請する", "住民登録はどこですか?", "你好,世界", "주민센터에 전화하세요", "Привет, как подать заявление?",
    "Γειά σου Κόσμε", "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก", "Xin chào thế giới", "გამარჯობა", "Բարեւ", "ሰላም",
    "Мüller wohnt in Мünchen", "Rathaus → 市役所 → мэрия", "Öffnungszeiten: 月–金 9:00–17:00", "٣ أيام", "½ Liter für 2 €", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛",
    "日本語とEnglishとDeutsch gemischt", "αβγ abc абв", "𐍈 𒀀 𓀀", "ꯍꯦꯜꯂꯣ", "Türkçe konuşuyor musunuz?", "Čeština a polština: zażółć gęślą jaźń",
]
FORMS = [
    "https://example.org/amt/antrag?id=4711&lang=de#top", "mailto:buergerbuero@example.org", "IBAN DE89 3704 0044 0532 0130 00",
    "Az. 32-11/2024-0815", "+49 (0)89 233-96000", "{\"key\": [1, 2.5e-3, null]}", "SELECT * FROM antrag WHERE id = 7;", "a" * 99, "b" * 101,
    "x" * 400, "0" * 60, "=" * 80, "...", "!!!???", "---", "a-b_c.d,e;f:g", "camelCaseWordsAreHard", "UPPER lower MiXeD", "[CLS] [SEP] [UNK]",
    "<s> </s> <unk> <mask>", "[PAD] und [MASK]", "##ung", "▁Wort", "it's, don't, we'll", "„Zitat“, ‚halb‘ und »Guillemets«", "1.234.567,89 €",
    "3×4=12 ≤ 15 ≠ ∞", "Fuß-Gänger-Zone", "Vor-\nname", "der der der der der der der der",
]

# Words of longer texts; some pass every limit.
LENGTHS = [20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100, 120, 140, 160, 180, 200, 230, 260, 290, 320, 350, 450, 700]
# Odd characters that are sprinkled over sentences.
SPRINKLED = ["🙂", "é", "\u0301", "\u200b", "\u0007", "…", "„", "東京", "٣", "ﬁ", "<b>", "\n", "👩‍👩‍👧", "1234567"]
# Sentences of each language as they are, and with something sprinkled over them.
PLAIN, ODD = 120, 50


def texts():
    """All texts, none twice."""
    source = random.Random(SEED)

    def choose(options):
        return options[int(source.random() * len(options))]

    def sentence(language):
        text = choose(language["sentence"])
        for slot in ("matter", "place", "time", "fault", "street"):
            while "{" + slot + "}" in text:
                text = text.replace("{" + slot + "}", choose(language[slot]), 1)
        return text[0].upper() + text[1:]

    def sprinkled(text):
        words = text.split(" ")
        for _ in range(1 + len(words) // 6):
            at = int(source.random() * (len(words) + 1))
            glue = source.random() < 0.3 and at < len(words)
            words[at : at + glue] = [choose(SPRINKLED) + (words[at] if glue else "")]
        return " ".join(words)

    found = SHORT + EMOJI + MARKS + CONTROL + SCRIPTS + FORMS
    for language in (GERMAN, ENGLISH):
        more = []
        while len(more) < PLAIN:
            more += [text for text in [sentence(language)] if text not in more]
        more += [sprinkled(sentence(language)) for _ in range(ODD)]
        for length in LENGTHS:
            words = []
            while len(words) < length:
                words += sentence(language).split(" ")
            more.append(" ".join(words[:length]))
        found += more
    found += [sprinkled(sentence(GERMAN) + " " + sentence(ENGLISH)) for _ in range(20)]
    return list(dict.fromkeys(found))
