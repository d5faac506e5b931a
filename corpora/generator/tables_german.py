"""German wording of three domains; the queries stay English."""

from dataclasses import replace

from corpora.generator.domains import Domain
from corpora.generator.tables_contracts import LEASES
from corpora.generator.tables_procedures import MANUALS
from corpora.generator.tables_reports import MINUTES


def shaped(english: Domain, *shapes: tuple[str, ...]) -> tuple:
    """The English attributes, questions included, with answer sentences in another language."""
    return tuple(replace(attribute, shapes=forms) for attribute, forms in zip(english.attributes, shapes, strict=True))


LEASES_DE = replace(
    LEASES, language="de", kind="Mietvertrag", title="Mietvertrag über Gewerberäume",
    opening="Dieser Vertrag regelt die Rechte und Pflichten der beiden Seiten.",
    holder=("Mieterin ist die Firma {name}.", "Die Räume werden an {name} vermietet."),
    closing="Unterschrieben für {name}.",
    parts={"Erdgeschoss": "the ground floor", "Keller": "the cellar", "Obergeschoss": "the upper floor",
           "Laderampe": "the loading bay", "Dachboden": "the attic", "Kantine": "the canteen",
           "Ausstellungsraum": "the showroom",
           "Werkstatt": "the workshop", "Garage": "the garage", "Hinterer Anbau": "the rear annex"},
    attributes=shaped(LEASES, ("die Monatsmiete beträgt {value} Dollar",
                               "jeden Monat sind {value} Dollar Miete fällig"),
                      ("die Kaution beträgt {value} Dollar", "hinterlegt werden {value} Dollar Kaution")),
    filler=(("Der Vermieter", "Die Mieterin", "Der Hausmeister", "Die Verwaltung", "Der Gutachter"),
            ("hält die Einbauten instand", "kündigt jeden Besuch an", "reinigt die Dachrinnen",
             "versichert die Fenster",
             "führt ein Verzeichnis der Schlüssel", "bezahlt Strom und Heizung"),
            ("wie üblich", "auf eigene Kosten", "in angemessener Frist", "nach schriftlicher Mitteilung",
             "so oft wie nötig")),
)

MANUALS_DE = replace(
    MANUALS, language="de", kind="Handbuch", title="Betriebs- und Wartungshandbuch",
    opening="Dieses Handbuch richtet sich an geschultes Personal.",
    holder=("Hersteller der Maschine ist {name}.", "Die Maschine wurde von {name} gebaut."),
    closing="Ersatzteile liefert {name}.",
    parts={"Scharnier": "the hinge", "Getriebe": "the gearbox", "Pumpe": "the pump", "Klinge": "the blade",
           "Förderband": "the conveyor", "Verdichter": "the compressor", "Schutzgitter": "the guard rail",
           "Spindel": "the spindle",
           "Trichter": "the hopper", "Schaltpult": "the control panel"},
    attributes=shaped(MANUALS, ("die Schrauben werden mit {value} Newtonmetern angezogen",
                                "das Drehmoment beträgt {value} Newtonmeter"),
                      ("die Wartung ist nach {value} Stunden fällig", "das Fett wird alle {value} Stunden erneuert")),
    filler=(("Der Bediener", "Die Monteurin", "Der Schichtleiter", "Die Elektrikerin", "Das Fachpersonal"),
            ("trennt die Maschine vom Netz", "trägt Handschuhe und Schutzbrille", "achtet auf fremde Geräusche",
             "wischt alle Flächen trocken ab", "ersetzt verschlissene Dichtungen", "trägt die Arbeit in das Heft ein"),
            ("vor jeder Schicht", "mit passendem Werkzeug", "wie in der Zeichnung gezeigt", "ohne Ausnahme",
             "im Zweifel")),
)

MINUTES_DE = replace(
    MINUTES, language="de", kind="Protokoll", title="Protokoll des Kleingartenvereins",
    opening="Dieses Protokoll hält fest, was in der Sitzung beschlossen wurde.",
    holder=("Die Sitzung leitete {name}.", "Den Vorsitz führte {name}."),
    closing="Gelesen und genehmigt von {name}.",
    parts={"Wasserversorgung": "the water supply", "Zäune": "the fencing", "Kompost": "the compost",
           "Gewächshaus": "the greenhouse",
           "Geräteschuppen": "the tool shed", "Fußwege": "the footpaths", "Sommerfest": "the summer fair",
           "Bienenstöcke": "the bee hives", "Spielplatz": "the playground", "Rundbrief": "the newsletter"},
    attributes=shaped(MINUTES, ("der Etat wird auf {value} Dollar festgesetzt", "bereitgestellt werden {value} Dollar"),
                      ("geplant sind {value} Arbeitsstunden", "der Aufwand wird auf {value} Stunden geschätzt")),
    filler=(("Die Schriftführerin", "Der Kassenwart", "Ein Gast", "Die Arbeitsgruppe", "Der Stellvertreter"),
            ("dankt allen Anwesenden", "verteilt den letzten Bericht", "bittet um Handzeichen",
             "erinnert an die Satzung",
             "will dem Rat schreiben", "schlägt eine Vertagung vor"),
            ("noch einmal", "nach kurzer Aussprache", "ohne Abstimmung", "vor der Pause",
             "mit allgemeiner Zustimmung")),
)

GERMAN = (LEASES_DE, MANUALS_DE, MINUTES_DE)
