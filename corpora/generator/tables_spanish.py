"""Spanish wording of three domains; the queries stay English."""

from dataclasses import replace

from corpora.generator.tables_contracts import LEASES
from corpora.generator.tables_german import shaped
from corpora.generator.tables_procedures import MANUALS
from corpora.generator.tables_reports import MINUTES

LEASES_ES = replace(
    LEASES, language="es", kind="contrato", title="Contrato de arrendamiento de locales",
    opening="Este contrato fija los derechos y deberes de ambas partes.",
    holder=("La arrendataria es la empresa {name}.", "Los locales se alquilan a {name}."),
    closing="Firmado en nombre de {name}.",
    parts={"Planta baja": "the ground floor", "Sótano": "the cellar", "Planta superior": "the upper floor",
           "Muelle de carga": "the loading bay", "Desván": "the attic", "Comedor": "the canteen",
           "Sala de exposición": "the showroom", "Taller": "the workshop", "Garaje": "the garage",
           "Anexo trasero": "the rear annex"},
    attributes=shaped(LEASES, ("la renta mensual es de {value} dólares", "cada mes se deben {value} dólares de renta"),
                      ("la fianza es de {value} dólares", "se deposita una fianza de {value} dólares")),
    filler=(("El arrendador", "La arrendataria", "El conserje", "El administrador", "El perito"),
            ("mantiene las instalaciones", "anuncia cada visita", "limpia los canalones", "asegura los cristales",
             "lleva la lista de llaves", "paga la luz y la calefacción"),
            ("como es costumbre", "a su cargo", "en un plazo razonable", "tras aviso escrito",
             "cuantas veces haga falta")),
)

MANUALS_ES = replace(
    MANUALS, language="es", kind="manual", title="Manual de uso y mantenimiento",
    opening="Este manual se dirige al personal formado.",
    holder=("El fabricante de la máquina es {name}.", "La máquina fue construida por {name}."),
    closing="Los repuestos los suministra {name}.",
    parts={"Bisagra": "the hinge", "Engranaje": "the gearbox", "Bomba": "the pump", "Cuchilla": "the blade",
           "Cinta transportadora": "the conveyor", "Compresor": "the compressor", "Barandilla": "the guard rail",
           "Husillo": "the spindle", "Tolva": "the hopper", "Cuadro de mandos": "the control panel"},
    attributes=shaped(MANUALS, ("los tornillos se aprietan a {value} newton metros",
                                "se aplica un par de {value} newton metros"),
                      ("la revisión toca a las {value} horas", "la grasa se renueva cada {value} horas")),
    filler=(("El operario", "La mecánica", "El jefe de turno", "La electricista", "El personal formado"),
            ("corta la corriente", "usa guantes y gafas", "vigila los ruidos extraños", "seca todas las superficies",
             "cambia las juntas gastadas", "anota el trabajo en el libro"),
            ("antes de cada turno", "con las herramientas previstas", "como muestra el dibujo", "sin excepción",
             "en caso de duda")),
)

MINUTES_ES = replace(
    MINUTES, language="es", kind="acta", title="Acta de la asociación de huertos",
    opening="Esta acta recoge lo acordado en la reunión.",
    holder=("La reunión fue presidida por {name}.", "{name} dirigió la reunión."),
    closing="Leída y aprobada por {name}.",
    parts={"Agua": "the water supply", "Vallas": "the fencing", "Abono": "the compost", "Invernadero": "the greenhouse",
           "Caseta de herramientas": "the tool shed", "Senderos": "the footpaths",
           "Fiesta de verano": "the summer fair",
           "Colmenas": "the bee hives", "Parque infantil": "the playground", "Boletín": "the newsletter"},
    attributes=shaped(MINUTES, ("el presupuesto se fija en {value} dólares", "se reservan {value} dólares"),
                      ("se prevén {value} horas de trabajo", "el esfuerzo se calcula en {value} horas")),
    filler=(("La secretaria", "El tesorero", "Un visitante", "El grupo de trabajo", "La suplente"),
            ("agradece la asistencia", "reparte el último informe", "pide votar a mano alzada",
             "recuerda los estatutos",
             "promete escribir al concejo", "propone volver al asunto"),
            ("una vez más", "tras breve debate", "sin votación", "antes del descanso", "con acuerdo general")),
)

SPANISH = (LEASES_ES, MANUALS_ES, MINUTES_ES)
