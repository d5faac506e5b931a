"""Italian wording of three domains; the queries stay English."""

from dataclasses import replace

from corpora.generator.tables_contracts import LEASES
from corpora.generator.tables_german import shaped
from corpora.generator.tables_procedures import MANUALS
from corpora.generator.tables_reports import MINUTES

LEASES_IT = replace(
    LEASES, language="it", kind="contratto", title="Contratto di locazione commerciale",
    opening="Il presente contratto regola i diritti e i doveri delle due parti.",
    holder=("Il conduttore è la ditta {name}.", "I locali sono dati in affitto a {name}."),
    closing="Firmato per conto di {name}.",
    parts={"Piano terra": "the ground floor", "Cantina": "the cellar", "Piano superiore": "the upper floor",
           "Zona di carico": "the loading bay", "Soffitta": "the attic", "Mensa": "the canteen",
           "Sala mostra": "the showroom", "Officina": "the workshop", "Autorimessa": "the garage",
           "Annesso sul retro": "the rear annex"},
    attributes=shaped(LEASES, ("il canone mensile è di {value} dollari",
                               "ogni mese sono dovuti {value} dollari di canone"),
                      ("la cauzione è di {value} dollari", "viene versata una cauzione di {value} dollari")),
    filler=(("Il locatore", "Il conduttore", "Il custode", "Il perito", "L'amministratore"),
            ("cura gli impianti", "annuncia ogni visita", "pulisce le grondaie", "assicura i vetri",
             "tiene il registro delle chiavi", "paga luce e riscaldamento"),
            ("come di consueto", "a proprie spese", "entro un termine equo", "dopo avviso scritto", "quando occorre")),
)

MANUALS_IT = replace(
    MANUALS, language="it", kind="manuale", title="Manuale d'uso e manutenzione",
    opening="Questo manuale si rivolge al personale addestrato.",
    holder=("Il costruttore della macchina è {name}.", "La macchina è stata costruita da {name}."),
    closing="I ricambi sono forniti da {name}.",
    parts={"Cerniera": "the hinge", "Ingranaggio": "the gearbox", "Pompa": "the pump", "Lama": "the blade",
           "Nastro": "the conveyor", "Compressore": "the compressor", "Parapetto": "the guard rail",
           "Mandrino": "the spindle",
           "Tramoggia": "the hopper", "Quadro comandi": "the control panel"},
    attributes=shaped(MANUALS, ("le viti si serrano a {value} newton metri",
                                "si applica una coppia di {value} newton metri"),
                      ("la revisione è prevista dopo {value} ore", "il grasso si rinnova ogni {value} ore")),
    filler=(("L'operatore", "Il montatore", "Il capoturno", "L'elettricista", "Il personale addestrato"),
            ("toglie la corrente", "indossa guanti e occhiali", "ascolta i rumori insoliti",
             "asciuga tutte le superfici",
             "cambia le guarnizioni usurate", "annota il lavoro nel registro"),
            ("prima di ogni turno", "con gli attrezzi adatti", "come nel disegno", "senza eccezioni",
             "in caso di dubbio")),
)

MINUTES_IT = replace(
    MINUTES, language="it", kind="verbale", title="Verbale dell'associazione degli orti",
    opening="Questo verbale riporta le decisioni prese nella riunione.",
    holder=("La riunione è stata presieduta da {name}.", "{name} ha diretto la riunione."),
    closing="Letto e approvato da {name}.",
    parts={"Acqua": "the water supply", "Recinzioni": "the fencing", "Concime": "the compost",
           "Serra": "the greenhouse",
           "Capanno": "the tool shed", "Vialetti": "the footpaths", "Festa estiva": "the summer fair",
           "Alveari": "the bee hives", "Parco giochi": "the playground", "Notiziario": "the newsletter"},
    attributes=shaped(MINUTES, ("il bilancio è fissato in {value} dollari", "vengono riservati {value} dollari"),
                      ("sono previste {value} ore di lavoro", "lo sforzo è stimato in {value} ore")),
    filler=(("La segretaria", "Il tesoriere", "Un ospite", "Il gruppo di lavoro", "Il supplente"),
            ("ringrazia i presenti", "distribuisce l'ultima relazione", "chiede un voto per alzata di mano",
             "ricorda lo statuto", "promette di scrivere al comune", "propone di tornare sul tema"),
            ("ancora una volta", "dopo breve discussione", "senza votazione", "prima della pausa",
             "con il consenso di tutti")),
)

ITALIAN = (LEASES_IT, MANUALS_IT, MINUTES_IT)
