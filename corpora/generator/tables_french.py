"""French wording of three domains; the queries stay English."""

from dataclasses import replace

from corpora.generator.tables_contracts import LEASES
from corpora.generator.tables_german import shaped
from corpora.generator.tables_procedures import MANUALS
from corpora.generator.tables_reports import MINUTES

LEASES_FR = replace(
    LEASES, language="fr", kind="bail", title="Bail de locaux commerciaux",
    opening="Le présent bail fixe les droits et les obligations des deux parties.",
    holder=("Le preneur est la société {name}.", "Les locaux sont loués à {name}."),
    closing="Signé pour {name}.",
    parts={"Rez-de-chaussée": "the ground floor", "Cave": "the cellar", "Étage supérieur": "the upper floor",
           "Quai de chargement": "the loading bay", "Grenier": "the attic", "Cantine": "the canteen",
           "Salle d'exposition": "the showroom", "Atelier": "the workshop", "Garage": "the garage",
           "Annexe arrière": "the rear annex"},
    attributes=shaped(LEASES, ("le loyer mensuel est de {value} dollars",
                               "chaque mois sont dus {value} dollars de loyer"),
                      ("le dépôt de garantie est de {value} dollars", "une caution de {value} dollars est versée")),
    filler=(("Le bailleur", "Le preneur", "Le gardien", "Le gérant", "L'expert"),
            ("entretient les installations", "annonce chaque visite", "nettoie les gouttières", "assure les vitres",
             "tient la liste des clés", "règle le chauffage et l'éclairage"),
            ("comme d'habitude", "à ses frais", "dans un délai raisonnable", "après avis écrit",
             "aussi souvent que nécessaire")),
)

MANUALS_FR = replace(
    MANUALS, language="fr", kind="manuel", title="Manuel d'utilisation et d'entretien",
    opening="Ce manuel s'adresse au personnel formé.",
    holder=("Le fabricant de la machine est {name}.", "La machine a été construite par {name}."),
    closing="Les pièces de rechange sont fournies par {name}.",
    parts={"Charnière": "the hinge", "Engrenage": "the gearbox", "Pompe": "the pump", "Lame": "the blade",
           "Convoyeur": "the conveyor", "Compresseur": "the compressor", "Garde-corps": "the guard rail",
           "Broche": "the spindle",
           "Trémie": "the hopper", "Pupitre": "the control panel"},
    attributes=shaped(MANUALS, ("les vis sont serrées à {value} newtons-mètres",
                                "un couple de {value} newtons-mètres est appliqué"),
                      ("l'entretien est prévu après {value} heures",
                       "la graisse est renouvelée toutes les {value} heures")),
    filler=(("L'opérateur", "Le mécanicien", "Le chef d'équipe", "L'électricien", "Le personnel formé"),
            ("coupe le courant", "porte des gants et des lunettes", "guette les bruits inhabituels",
             "essuie les surfaces à sec", "remplace les joints usés", "note le travail dans le carnet"),
            ("avant chaque poste", "avec les outils prévus", "comme sur le dessin", "sans exception",
             "en cas de doute")),
)

MINUTES_FR = replace(
    MINUTES, language="fr", kind="compte rendu", title="Compte rendu de l'association des jardins",
    opening="Ce compte rendu retient ce qui a été décidé en séance.",
    holder=("La séance était présidée par {name}.", "{name} a dirigé la séance."),
    closing="Lu et approuvé par {name}.",
    parts={"Eau": "the water supply", "Clôtures": "the fencing", "Compost": "the compost", "Serre": "the greenhouse",
           "Remise à outils": "the tool shed", "Allées": "the footpaths", "Fête d'été": "the summer fair",
           "Ruches": "the bee hives", "Aire de jeux": "the playground", "Bulletin": "the newsletter"},
    attributes=shaped(MINUTES, ("le budget est fixé à {value} dollars", "une somme de {value} dollars est réservée"),
                      ("sont prévues {value} heures de travail", "l'effort est estimé à {value} heures")),
    filler=(("La secrétaire", "Le trésorier", "Un visiteur", "Le groupe de travail", "L'adjoint"),
            ("remercie les membres présents", "distribue le dernier rapport", "demande un vote à main levée",
             "rappelle les statuts", "promet d'écrire au conseil", "propose d'y revenir"),
            ("encore une fois", "après un bref échange", "sans vote", "avant la pause", "avec l'accord de tous")),
)

FRENCH = (LEASES_FR, MANUALS_FR, MINUTES_FR)
