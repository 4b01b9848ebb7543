"""The open word classes as plain tables: one line per concept, English | German | classes.

Every concept has exactly one word per language, and no word has two concepts that a sentence could
not distinguish. Plurals equal to the singular, epicene words and polite forms are left out if they
would make a translation ambiguous. `lexicon` reads these tables.
"""

# singular plural | gender singular plural (* weak: oblique singular = plural) | classes
NOUNS = """
man men | m Mann Männer | person unowned
woman women | f Frau Frauen | person unowned
child children | n Kind Kinder | person
girl girls | n Mädchen Mädchen | person unowned
boy boys | m Junge* Jungen | person unowned
teacher teachers | m Lehrer Lehrer | person
student students | m Student* Studenten | person
doctor doctors | m Arzt Ärzte | person
neighbour neighbours | m Nachbar* Nachbarn | person
friend friends | m Freund Freunde | person
sister sisters | f Schwester Schwestern | person
brother brothers | m Bruder Brüder | person
mother mothers | f Mutter Mütter | person
father fathers | m Vater Väter | person
queen queens | f Königin Königinnen | person
king kings | m König Könige | person
dog dogs | m Hund Hunde | animal
cat cats | f Katze Katzen | animal
horse horses | n Pferd Pferde | animal
bird birds | m Vogel Vögel | animal
cow cows | f Kuh Kühe | animal
monkey monkeys | m Affe* Affen | animal
book books | n Buch Bücher | thing portable readable writable
letter letters | m Brief Briefe | thing portable readable writable openable
newspaper newspapers | f Zeitung Zeitungen | thing portable readable
picture pictures | n Bild Bilder | thing portable
car cars | n Auto Autos | thing device washable coloured openable
bicycle bicycles | n Fahrrad Fahrräder | thing device washable coloured
train trains | m Zug Züge | vehicle coloured
table tables | m Tisch Tische | thing device washable coloured
chair chairs | m Stuhl Stühle | thing device washable coloured
lamp lamps | f Lampe Lampen | thing device portable coloured
clock clocks | f Uhr Uhren | thing device portable
door doors | f Tür Türen | thing device washable openable coloured
window windows | n Fenster Fenster | thing device washable openable
key keys | m Schlüssel Schlüssel | thing portable
bag bags | f Tasche Taschen | thing portable washable openable coloured
knife knives | n Messer Messer | thing portable washable
cup cups | f Tasse Tassen | thing portable washable coloured
hat hats | m Hut Hüte | thing portable coloured
shirt shirts | n Hemd Hemden | thing portable washable coloured
coat coats | m Mantel Mäntel | thing portable washable coloured
flower flowers | f Blume Blumen | thing portable coloured
apple apples | m Apfel Äpfel | food piece coloured
egg eggs | n Ei Eier | food piece
cake cakes | m Kuchen Kuchen | food piece dish
sausage sausages | f Wurst Würste | food piece
bread - | n Brot - | food mass
cheese - | m Käse - | food mass
meat - | n Fleisch - | food mass
soup - | f Suppe - | food mass dish
water - | n Wasser - | drink mass
milk - | f Milch - | drink mass
coffee - | m Kaffee - | drink mass dish
tea - | m Tee - | drink mass dish
house houses | n Haus Häuser | place coloured building in near
garden gardens | m Garten Gärten | place in near
kitchen kitchens | f Küche Küchen | place in near
park parks | m Park Parks | place in near goal
city cities | f Stadt Städte | place visitable in
village villages | n Dorf Dörfer | place visitable in
forest forests | m Wald Wälder | place in near
hotel hotels | n Hotel Hotels | place building in near goal
castle castles | n Schloss Schlösser | place visitable building in near goal
church churches | f Kirche Kirchen | place visitable building in near goal
museum museums | n Museum Museen | place visitable building in near goal
market markets | m Markt Märkte | place at:auf goal
station stations | m Bahnhof Bahnhöfe | place building at:an near goal
school schools | f Schule Schulen | place building at:in near goal
airport airports | m Flughafen Flughäfen | place at:an goal
beach beaches | m Strand Strände | place at:an goal
"""

# word | predicative, or predicative/stem | classes of nouns; before: it precedes the others
ADJECTIVES = """
old | alt | before person animal thing place vehicle
young | jung | before person animal
big | groß | before animal thing place piece
small | klein | before person animal thing place piece
beautiful | schön | before person animal thing place
new | neu | before attributive thing place vehicle
good | gut | before food drink
bad | schlecht | before food drink
red | rot | coloured
green | grün | coloured
blue | blau | coloured
black | schwarz | coloured animal
white | weiß | coloured animal
clever | klug | person animal
rich | reich | person
poor | arm | person
strong | stark | person animal
tired | müde/müd | person animal
sad | traurig | person
happy | glücklich | person
famous | berühmt | person visitable
brave | mutig | person
lazy | faul | person animal
ill | krank | person animal
expensive | teuer/teur | thing food
heavy | schwer | thing
broken | kaputt | device
dirty | schmutzig | washable
interesting | interessant | readable visitable
modern | modern | device building vehicle
quiet | ruhig | place
hot | heiß | drink dish
cold | kalt | drink dish
fresh | frisch | food drink
"""

# base third past -ing (particle) | prefix-infinitive third participle (sein, dative, +preposition)
# | traits: subject classes > object classes (past-only: "him" and "her" in the past only)
VERBS = """
see sees saw seeing | sehen sieht gesehen | simple: person animal > person animal thing place
hear hears heard hearing | hören hört gehört | simple past-only: person animal > person animal
know knows knew knowing | kennen kennt gekannt | state: person > person visitable
love loves loved loving | lieben liebt geliebt | state: person > person animal visitable
understand understands understood understanding | verstehen versteht verstanden | \
simple: person > person
find finds found finding | finden findet gefunden | simple: person > portable animal
lose loses lost losing | verlieren verliert verloren | simple: person > portable
forget forgets forgot forgetting | vergessen vergisst vergessen | simple: person > portable
buy buys bought buying | kaufen kauft gekauft | for: person > thing food
sell sells sold selling | verkaufen verkauft verkauft | : person > thing food
read reads read reading | lesen liest gelesen | : person > readable
write writes wrote writing | schreiben schreibt geschrieben | for: person > writable
eat eats ate eating | essen isst gegessen | : person animal > food
drink drinks drank drinking | trinken trinkt getrunken | : person animal > drink
prepare prepares prepared preparing | zu-bereiten bereitet zubereitet | for: person > dish
wash washes washed washing | waschen wäscht gewaschen | for: person > washable animal
repair repairs repaired repairing | reparieren repariert repariert | for: person > device
open opens opened opening | auf-machen macht aufgemacht | : person > openable
close closes closed closing | zu-machen macht zugemacht | : person > openable
draw draws drew drawing | zeichnen zeichnet gezeichnet | for: person > animal thing building
bring brings brought bringing | mit-bringen bringt mitgebracht | for still: person > portable food
visit visits visited visiting | besuchen besucht besucht | still: person > visitable
look looks looked looking for | suchen sucht gesucht | : person > person animal portable
wait waits waited waiting for | warten wartet gewartet +auf | past-only: person > person vehicle
listen listens listened listening to | zu-hören hört zugehört dative | past-only: person > person
call calls called calling | an-rufen ruft angerufen | still past-only: person > person
invite invites invited inviting | ein-laden lädt eingeladen | still past-only: person > person
help helps helped helping | helfen hilft geholfen dative | past-only: person > person
thank thanks thanked thanking | danken dankt gedankt dative | : person > person
give gives gave giving | geben gibt gegeben | give: person > portable food
show shows showed showing | zeigen zeigt gezeigt | give: person > portable animal
send sends sent sending | schicken schickt geschickt | give: person > portable
sleep sleeps slept sleeping | schlafen schläft geschlafen | alone: person animal
work works worked working | arbeiten arbeitet gearbeitet | : person
laugh laughs laughed laughing | lachen lacht gelacht | : person
dance dances danced dancing | tanzen tanzt getanzt | : person
sing sings sang singing | singen singt gesungen | : person
play plays played playing | spielen spielt gespielt | : person animal
swim swims swam swimming | schwimmen schwimmt geschwommen sein | still: person animal
run runs ran running | laufen läuft gelaufen sein | : person animal
go goes went going | gehen geht gegangen sein | goal: person
arrive arrives arrived arriving | an-kommen kommt angekommen sein | still: person vehicle
leave leaves left leaving | ab-fahren fährt abgefahren sein | still: person vehicle
come comes came coming back | zurück-kommen kommt zurückgekommen sein | still: person
stay stays stayed staying | bleiben bleibt geblieben sein | stay: person animal
"""

# words joined to their half of the concept by a dot (1 first, 2 second, nothing: both)
TIMES = """
yesterday | gestern | past
last.1 week.2 | letzte.1 Woche.2 | past
tomorrow | morgen | future modal
next.1 week.2 | nächste.1 Woche.2 | future modal
today | heute | present past future modal
now | jetzt | present modal
on.1 Monday.2 | am.1 Montag.2 | past future modal
on.1 Friday.2 | am.1 Freitag.2 | past future modal
every.1 day.2 | jeden.1 Tag.2 | present future modal habit
"""

FREQUENCIES = """
often | oft
always | immer
"""

# words | preposition and case (0 nominative, 1 accusative, 2 dative)
PREPOSITIONS = """
in | in 2
behind | hinter 2
in front of | vor 2
next to | neben 2
at | - 2
to | zu 2
with | mit 2
for | für 1
"""

# I he we they in each language, after the forms of the report "I think that"
REPORTS = """
think thinks think think | denke denkt denken denken
say says say say | sage sagt sagen sagen
know knows know know | weiß weiß wissen wissen
hope hopes hope hope | hoffe hofft hoffen hoffen
"""

MODALS = """
can can can can | kann kann können können
must must must must | muss muss müssen müssen
want wants want want | will will wollen wollen
"""

NAMES = "Anna f, Maria f, Julia f, Peter m, Paul m, Thomas m"
