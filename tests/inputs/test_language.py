"""Which language a text is in, and that doubt means English."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.core.understood import LANGUAGES as KNOWN
from edgeret_export.reference.inputs.language import language_of, surely_not_english
from edgeret_export.reference.inputs.language_rules import LANGUAGES, content

SAID = {
    "de": """Stell die Heizung im Bad auf 22 Grad
wie wird das Wetter am Wochenende
ist die Haustür abgeschlossen?
Mach bitte das Licht im Keller aus
spiel meine Lieblingsmusik
füge Butter zur Einkaufsliste hinzu
wann geht der nächste Zug nach Köln
erinnere mich morgen um acht an den Müll
Garagentor öffnen
wo ist mein Handy
ruf meine Schwester an
Rollläden runter
Timer auf zehn Minuten
lösche die letzte Nachricht
was steht heute in meinem Kalender
gibt es neue Mails von der Bank
übersetze das ins Englische
überweise fünfzig Euro an Anna
dimme die Wohnzimmerlampe auf dreißig Prozent
Staubsauger starten""",
    "fr": """Monte le chauffage de la salle de bain
quel temps fera-t-il ce week-end
est-ce que la porte est fermée ?
éteins la lumière de la cave
joue ma musique préférée
ajoute du beurre à la liste de courses
à quelle heure part le prochain train pour Lyon
rappelle-moi de sortir les poubelles demain
ouvre le garage
où est mon téléphone
appelle ma sœur
baisse les volets du salon
minuteur de dix minutes
supprime le dernier message
qu'est-ce que j'ai aujourd'hui
y a-t-il de nouveaux mails de la banque
traduis cette phrase en anglais
vire cinquante euros à Anne
tamise la lampe du bureau
lance l'aspirateur""",
    "es": """Sube la calefacción del baño
qué tiempo hará este fin de semana
¿está cerrada la puerta?
apaga la luz del sótano
pon mi música favorita
añade mantequilla a la lista de la compra
a qué hora sale el próximo tren a Sevilla
recuérdame sacar la basura mañana
abre el garaje
dónde está mi teléfono
llama a mi hermana
baja las persianas
temporizador de diez minutos
borra el último mensaje
qué tengo hoy en la agenda
hay correos nuevos del banco
traduce esta frase al inglés
transfiere cincuenta euros a Ana
atenúa la lámpara del despacho
inicia la aspiradora""",
    "zh": """把浴室的暖气调到22度
周末天气怎么样
大门锁了吗？
关灯
播放我最喜欢的音乐
TV静音
明天八点提醒我倒垃圾
把車庫門打開
給媽媽打電話
10分钟计时器""",
    "en": """turn the bathroom heating up to 22
play La Vie en Rose by Édith Piaf
call Jürgen Müller about the Übergabe
what does je ne sais quoi mean
translate good morning into german
navigate to Calle Mayor 12 in Madrid
add crème fraîche and jalapeños to the list
how do you say thank you in spanish
open el_camino.mp4 in the player
git checkout -b die/das && make
order a Käsekrainer
Schadenfreude
die
no
la la la
für Elise
show me hotels in São Paulo and Zürich
play Despacito
remind me about Día de los Muertos
who is Angela Merkel
write a mail to info@das-haus.de
for (i = 0; i < n; i++) { das[i] = der; }
ışıkları kapat
aprire la finestra
batti band karo
tafi al-nour
включи свет
ライトを消してください
불을 꺼 줘

!!!""",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_requests_are_in_their_language(language: str) -> None:
    wrong = {said: found for said in SAID[language].split("\n") if (found := language_of(said)) != language}
    assert not wrong


def test_what_is_sure_is_no_name_in_an_english_request() -> None:
    assert not {said for said in SAID["en"].split("\n") if surely_not_english(said) is not None}
    found = [surely_not_english(said) == code for code in LANGUAGES[1:] for said in SAID[code].split("\n")]
    assert sum(found) >= 0.7 * len(found)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("schalte das Licht in der Küche aus and play jazz", "de"),
        ("turn off the lights in the kitchen and dann spiel Jazz", "en"),
        ("播放 Taylor Swift 的歌", "zh"),
        ("play 月亮代表我的心 in the kitchen", "en"),
        ("x " * 10_000 + "mach das Licht aus", "en"),
        ("mach das Licht aus " + "x " * 10_000, "de"),
    ],
)
def test_of_two_languages_the_one_that_says_more_counts(text: str, language: str) -> None:
    assert language_of(text) == language


@given(st.text())
def test_any_text_has_a_language(text: str) -> None:
    assert language_of(text) in LANGUAGES
    assert surely_not_english(text) in (None, language_of(text))


def test_languages_have_names() -> None:
    assert {language: content(language)["name"] for language in LANGUAGES} == KNOWN
