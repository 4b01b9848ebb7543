"""The open word classes as plain tables: one line per concept, English | German | French | classes.

Every concept has exactly one word per language, and no word has two concepts that a sentence could
not distinguish. Plurals equal to the singular, epicene words and polite forms are left out if they
would make a translation ambiguous. `lexicon` reads these tables.
"""

# singular plural | gender singular plural (* weak: oblique singular = plural)
# | gender singular plural
NOUNS = """
man men | m Mann Männer | m homme hommes | person unowned
woman women | f Frau Frauen | f femme femmes | person unowned
child children | n Kind Kinder | m enfant enfants | person
girl girls | n Mädchen Mädchen | f fille filles | person unowned
boy boys | m Junge* Jungen | m garçon garçons | person unowned
teacher teachers | m Lehrer Lehrer | m professeur professeurs | person
student students | m Student* Studenten | m étudiant étudiants | person
doctor doctors | m Arzt Ärzte | m médecin médecins | person
neighbour neighbours | m Nachbar* Nachbarn | m voisin voisins | person
friend friends | m Freund Freunde | m ami amis | person
sister sisters | f Schwester Schwestern | f sœur sœurs | person
brother brothers | m Bruder Brüder | m frère frères | person
mother mothers | f Mutter Mütter | f mère mères | person
father fathers | m Vater Väter | m père pères | person
queen queens | f Königin Königinnen | f reine reines | person
king kings | m König Könige | m roi rois | person
dog dogs | m Hund Hunde | m chien chiens | animal
cat cats | f Katze Katzen | m chat chats | animal
horse horses | n Pferd Pferde | m cheval chevaux | animal
bird birds | m Vogel Vögel | m oiseau oiseaux | animal
cow cows | f Kuh Kühe | f vache vaches | animal
monkey monkeys | m Affe* Affen | m singe singes | animal
book books | n Buch Bücher | m livre livres | thing portable readable writable
letter letters | m Brief Briefe | f lettre lettres | thing portable readable writable openable
newspaper newspapers | f Zeitung Zeitungen | m journal journaux | thing portable readable
picture pictures | n Bild Bilder | f image images | thing portable
car cars | n Auto Autos | f voiture voitures | thing device washable coloured openable
bicycle bicycles | n Fahrrad Fahrräder | m vélo vélos | thing device washable coloured
train trains | m Zug Züge | m train trains | vehicle coloured
table tables | m Tisch Tische | f table tables | thing device washable coloured
chair chairs | m Stuhl Stühle | f chaise chaises | thing device washable coloured
lamp lamps | f Lampe Lampen | f lampe lampes | thing device portable coloured
clock clocks | f Uhr Uhren | f horloge horloges | thing device portable
door doors | f Tür Türen | f porte portes | thing device washable openable coloured
window windows | n Fenster Fenster | f fenêtre fenêtres | thing device washable openable
key keys | m Schlüssel Schlüssel | f clé clés | thing portable
bag bags | f Tasche Taschen | m sac sacs | thing portable washable openable coloured
knife knives | n Messer Messer | m couteau couteaux | thing portable washable
cup cups | f Tasse Tassen | f tasse tasses | thing portable washable coloured
hat hats | m Hut Hüte | m chapeau chapeaux | thing portable coloured
shirt shirts | n Hemd Hemden | f chemise chemises | thing portable washable coloured
coat coats | m Mantel Mäntel | m manteau manteaux | thing portable washable coloured
flower flowers | f Blume Blumen | f fleur fleurs | thing portable coloured
apple apples | m Apfel Äpfel | f pomme pommes | food piece coloured
egg eggs | n Ei Eier | m œuf œufs | food piece
cake cakes | m Kuchen Kuchen | m gâteau gâteaux | food piece dish
sausage sausages | f Wurst Würste | f saucisse saucisses | food piece
bread - | n Brot - | m pain - | food mass
cheese - | m Käse - | m fromage - | food mass
meat - | n Fleisch - | f viande - | food mass
soup - | f Suppe - | f soupe - | food mass dish
water - | n Wasser - | f eau - | drink mass
milk - | f Milch - | m lait - | drink mass
coffee - | m Kaffee - | m café - | drink mass dish
tea - | m Tee - | m thé - | drink mass dish
house houses | n Haus Häuser | f maison maisons | place coloured building in near
garden gardens | m Garten Gärten | m jardin jardins | place in near
kitchen kitchens | f Küche Küchen | f cuisine cuisines | place in near
park parks | m Park Parks | m parc parcs | place in near goal
city cities | f Stadt Städte | f ville villes | place visitable in
village villages | n Dorf Dörfer | m village villages | place visitable in
forest forests | m Wald Wälder | f forêt forêts | place in near
hotel hotels | n Hotel Hotels | m hôtel hôtels | place building in near goal
castle castles | n Schloss Schlösser | m château châteaux | place visitable building in near goal
church churches | f Kirche Kirchen | f église églises | place visitable building in near goal
museum museums | n Museum Museen | m musée musées | place visitable building in near goal
market markets | m Markt Märkte | m marché marchés | place at:auf goal
station stations | m Bahnhof Bahnhöfe | f gare gares | place building at:an near goal
school schools | f Schule Schulen | f école écoles | place building at:in near goal
airport airports | m Flughafen Flughäfen | m aéroport aéroports | place at:an goal
beach beaches | m Strand Strände | f plage plages | place at:an goal
"""

# word | predicative, or predicative/stem
# | masculine feminine masculine-plural (before a vowel) | ...
ADJECTIVES = """
old | alt | vieux vieille vieux vieil | before person animal thing place vehicle
young | jung | jeune jeune jeunes | before person animal
big | groß | grand grande grands | before animal thing place piece
small | klein | petit petite petits | before person animal thing place piece
beautiful | schön | beau belle beaux bel | before person animal thing place
new | neu | nouveau nouvelle nouveaux nouvel | before attributive thing place vehicle
good | gut | bon bonne bons | before food drink
bad | schlecht | mauvais mauvaise mauvais | before food drink
red | rot | rouge rouge rouges | coloured
green | grün | vert verte verts | coloured
blue | blau | bleu bleue bleus | coloured
black | schwarz | noir noire noirs | coloured animal
white | weiß | blanc blanche blancs | coloured animal
clever | klug | intelligent intelligente intelligents | person animal
rich | reich | riche riche riches | person
poor | arm | pauvre pauvre pauvres | person
strong | stark | fort forte forts | person animal
tired | müde/müd | fatigué fatiguée fatigués | person animal
sad | traurig | triste triste tristes | person
happy | glücklich | heureux heureuse heureux | person
famous | berühmt | célèbre célèbre célèbres | person visitable
brave | mutig | courageux courageuse courageux | person
lazy | faul | paresseux paresseuse paresseux | person animal
ill | krank | malade malade malades | person animal
expensive | teuer/teur | cher chère chers | thing food
heavy | schwer | lourd lourde lourds | thing
broken | kaputt | cassé cassée cassés | device
dirty | schmutzig | sale sale sales | washable
interesting | interessant | intéressant intéressante intéressants | readable visitable
modern | modern | moderne moderne modernes | device building vehicle
quiet | ruhig | tranquille tranquille tranquilles | place
hot | heiß | chaud chaude chauds | drink dish
cold | kalt | froid froide froids | drink dish
fresh | frisch | frais fraîche frais | food drink
"""

# base third past -ing (particle) | prefix-infinitive third participle (sein, dative, +preposition)
# | infinitive (être) | traits: subject classes > object classes
VERBS = """
see sees saw seeing | sehen sieht gesehen | voir | simple: person animal > person animal thing place
hear hears heard hearing | hören hört gehört | entendre | simple: person animal > person animal
know knows knew knowing | kennen kennt gekannt | connaître | state: person > person visitable
love loves loved loving | lieben liebt geliebt | aimer | state: person > person animal visitable
understand understands understood understanding | verstehen versteht verstanden | comprendre | \
simple: person > person
find finds found finding | finden findet gefunden | trouver | simple: person > portable animal
lose loses lost losing | verlieren verliert verloren | perdre | simple: person > portable
forget forgets forgot forgetting | vergessen vergisst vergessen | oublier | \
simple: person > portable
buy buys bought buying | kaufen kauft gekauft | acheter | for: person > thing food
sell sells sold selling | verkaufen verkauft verkauft | vendre | : person > thing food
read reads read reading | lesen liest gelesen | lire | : person > readable
write writes wrote writing | schreiben schreibt geschrieben | écrire | for: person > writable
eat eats ate eating | essen isst gegessen | manger | : person animal > food
drink drinks drank drinking | trinken trinkt getrunken | boire | : person animal > drink
prepare prepares prepared preparing | zu-bereiten bereitet zubereitet | préparer | \
for: person > dish
wash washes washed washing | waschen wäscht gewaschen | laver | for: person > washable animal
repair repairs repaired repairing | reparieren repariert repariert | réparer | \
for: person > device
open opens opened opening | auf-machen macht aufgemacht | ouvrir | : person > openable
close closes closed closing | zu-machen macht zugemacht | fermer | : person > openable
draw draws drew drawing | zeichnen zeichnet gezeichnet | dessiner | \
for: person > animal thing building
bring brings brought bringing | mit-bringen bringt mitgebracht | apporter | \
for still: person > portable food
visit visits visited visiting | besuchen besucht besucht | visiter | still: person > visitable
look looks looked looking for | suchen sucht gesucht | chercher | : person > person animal portable
wait waits waited waiting for | warten wartet gewartet +auf | attendre | : person > person vehicle
listen listens listened listening to | zu-hören hört zugehört dative | écouter | : person > person
call calls called calling | an-rufen ruft angerufen | appeler | still: person > person
invite invites invited inviting | ein-laden lädt eingeladen | inviter | still: person > person
help helps helped helping | helfen hilft geholfen dative | aider | : person > person
thank thanks thanked thanking | danken dankt gedankt dative | remercier | : person > person
give gives gave giving | geben gibt gegeben | donner | give: person > portable food
show shows showed showing | zeigen zeigt gezeigt | montrer | give: person > portable animal
send sends sent sending | schicken schickt geschickt | envoyer | give: person > portable
sleep sleeps slept sleeping | schlafen schläft geschlafen | dormir | alone: person animal
work works worked working | arbeiten arbeitet gearbeitet | travailler | : person
laugh laughs laughed laughing | lachen lacht gelacht | rire | : person
dance dances danced dancing | tanzen tanzt getanzt | danser | : person
sing sings sang singing | singen singt gesungen | chanter | : person
play plays played playing | spielen spielt gespielt | jouer | : person animal
swim swims swam swimming | schwimmen schwimmt geschwommen sein | nager | still: person animal
run runs ran running | laufen läuft gelaufen sein | courir | : person animal
go goes went going | gehen geht gegangen sein | aller être | goal: person
arrive arrives arrived arriving | an-kommen kommt angekommen sein | arriver être | \
still: person vehicle
leave leaves left leaving | ab-fahren fährt abgefahren sein | partir être | still: person vehicle
come comes came coming back | zurück-kommen kommt zurückgekommen sein | revenir être | still: person
stay stays stayed staying | bleiben bleibt geblieben sein | rester être | stay: person animal
"""

# infinitive | je il nous ils | future stem | participle (verbs in -er not listed are regular)
FRENCH_IRREGULAR = """
voir | vois voit voyons voient | verr | vu
entendre | entends entend entendons entendent | entendr | entendu
connaître | connais connaît connaissons connaissent | connaîtr | connu
comprendre | comprends comprend comprenons comprennent | comprendr | compris
perdre | perds perd perdons perdent | perdr | perdu
acheter | achète achète achetons achètent | achèter | acheté
vendre | vends vend vendons vendent | vendr | vendu
lire | lis lit lisons lisent | lir | lu
écrire | écris écrit écrivons écrivent | écrir | écrit
boire | bois boit buvons boivent | boir | bu
ouvrir | ouvre ouvre ouvrons ouvrent | ouvrir | ouvert
attendre | attends attend attendons attendent | attendr | attendu
appeler | appelle appelle appelons appellent | appeller | appelé
envoyer | envoie envoie envoyons envoient | enverr | envoyé
dormir | dors dort dormons dorment | dormir | dormi
rire | ris rit rions rient | rir | ri
courir | cours court courons courent | courr | couru
aller | vais va allons vont | ir | allé
partir | pars part partons partent | partir | parti
revenir | reviens revient revenons reviennent | reviendr | revenu
"""

# words joined to their half of the concept by a dot (1 first, 2 second, nothing: both)
TIMES = """
yesterday | gestern | hier | past
last.1 week.2 | letzte.1 Woche.2 | la.2 semaine.2 dernière.1 | past
tomorrow | morgen | demain | future modal
next.1 week.2 | nächste.1 Woche.2 | la.2 semaine.2 prochaine.1 | future modal
today | heute | aujourd'hui | present past future modal
now | jetzt | maintenant | present modal
on.1 Monday.2 | am.1 Montag.2 | lundi | past future modal
on.1 Friday.2 | am.1 Freitag.2 | vendredi | past future modal
every.1 day.2 | jeden.1 Tag.2 | chaque.1 jour.2 | present future modal habit
"""

FREQUENCIES = """
often | oft | souvent
always | immer | toujours
"""

# words | preposition and case (0 nominative, 1 accusative, 2 dative) | words
PREPOSITIONS = """
in | in 2 | dans
behind | hinter 2 | derrière
in front of | vor 2 | devant
next to | neben 2 | à côté de
at | - 2 | à
to | zu 2 | à
with | mit 2 | avec
for | für 1 | pour
"""

# I he we they in each language, after the forms of the report "I think that"
REPORTS = """
think thinks think think | denke denkt denken denken | pense pense pensons pensent
say says say say | sage sagt sagen sagen | dis dit disons disent
know knows know know | weiß weiß wissen wissen | sais sait savons savent
hope hopes hope hope | hoffe hofft hoffen hoffen | espère espère espérons espèrent
"""

MODALS = """
can can can can | kann kann können können | peux peut pouvons peuvent
must must must must | muss muss müssen müssen | dois doit devons doivent
want wants want want | will will wollen wollen | veux veut voulons veulent
"""

NAMES = "Anna f, Maria f, Julia f, Peter m, Paul m, Thomas m"
