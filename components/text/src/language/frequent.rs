//! Function words and words for office matters, by language.
//!
//! Languages that share a word each list it, so that it favours none of them. Letters have no diacritics here; texts
//! are read with and without them.

/// A language and its frequent words.
pub(super) struct Frequent {
    /// Its ISO 639-1 code.
    pub(super) code: &'static str,
    /// Its words, separated by white space.
    pub(super) words: &'static str,
}

const fn frequent(code: &'static str, words: &'static str) -> Frequent {
    Frequent { code, words }
}

/// All languages with a word list; German and English first.
pub(super) const FREQUENT: [Frequent; 21] = [
    frequent(
        "de",
        "der die das dem den des und ich ist nicht nich ein eine einen einem einer eines wir mein meine \
         meinem meinen meiner wie wo wann muss kann konnen koennen fur fuer mit von auf bitte habe hab haben \
         hat hatte wird wurde werden sind bin bist war waren bei beim zum zur im am an in ins es er sie ihr \
         ihre ihren ihnen uns unser unsere danke was wer wen wem wieso warum welche welcher welches du dein \
         deine aus aber auch oder ob dass wenn weil denn noch nur schon sehr so als nach vor uber ueber unter \
         durch ohne um zu zwischen gegen seit bis ab man kein keine keinen mal mehr hier da dann damit doch \
         jetzt heute morgen gestern tun machen mache kostet kosten gibt geht braucht brauche brauch mochte \
         moechte will wollen soll sollen darf durfen duerfen sich mir mich dir dich ihm ihn vom wieder weg \
         immer nie nichts nix etwas viel viele vielen lange hallo guten tag gruss grusse gruesse servus moin \
         grussgott hi ned net nimmer wos ois mei hob koa muas dat wat ick nen ne isch woll hoam san ham \
         kriege bekomme bekommt komme kommt steht wohin woher also gar ganz neu neue neuen neuer alt alte \
         alten geehrte damen herren gultig gueltig lauft laeuft offen ja nein dauert lang passiert finde \
         suche gesucht frage hund pass kenn kennt wohne wohnen melde nun leider freundlichen verloren \
         tot dank mag worden los her kam adresse per pro kost mai",
    ),
    frequent(
        "en",
        "the and i is not a an we my our how where when why which must can could would should will for with \
         of on please have has had be been was were are am at to in it its you your yours thanks thank need \
         needs do does did don doesn didn isn what who whose this that these those from by or but if so as \
         there their they them he she his her him us me up out off about into after before over under no yes \
         any some all more than then now here again still just only also very much many long get got want \
         wanted go going hi hello hey dear sir madam im ive dont cant someone somebody nobody cost costs new \
         old open per until since because without between through while lost apply renew ask help know tell \
         may might pls plz thx u bin bins gonna next back come came told said \
         say everywhere every each time once ten men son door van pass far mine care plus december s t m ve",
    ),
    frequent(
        "fr",
        "le la les l un une des du de d et est ne pas je j tu il elle on nous vous ils mon ma mes votre vos \
         notre nos son sa ses ce cet cette ces c que qu qui quoi quel quelle quels quelles ou quand comment \
         combien pourquoi pour avec sans sur sous dans chez par en au aux a y ai as avons avez ont suis \
         sommes etes sont etait peut peux pouvez dois doit faut faire fait voudrais bonjour merci salut mais \
         plus tres aussi si se leur bien coute cout obtenir demander s n m t passeport permis rendez carte \
         mairie naissance adresse chien toutes tous",
    ),
    frequent(
        "es",
        "el la los las un una unos unas de del al y e o u es no yo tu mi mis su sus me se te nos le les lo \
         que quien cual cuales como cuando cuanto cuantos cuanta donde por porque para con sin sobre en a ha \
         he han hemos soy somos esta estan estoy este esto ese esa son puedo puede pueden quiero quisiera \
         necesito necesita hay tengo tiene hacer debo si pero mas muy tambien ya hola gracias buenos buenas \
         dias tardes cuesta vale mucho nuestro nuestra desde hasta pasaporte cita carnet permiso ayuntamiento \
         nacimiento perro perdido favor todavia",
    ),
    frequent(
        "it",
        "il lo la i gli le un uno una di del dello della dei degli delle al alla allo ai e ed o non io tu mi \
         ti si ci vi mio mia miei mie suo sua nostro nostra che chi cosa quale quali come quando quanto \
         quanti quanta dove perche per con senza su sul sulla in nel nella da dal dalla a ho ha hanno abbiamo \
         sono siamo questo questa quello posso puo possiamo devo deve vorrei c serve servono avere fare ma \
         piu molto anche se buongiorno salve grazie costa vale d l ogni nuovo nuova dopo prima passaporto \
         patente appuntamento carta comune nascita cane",
    ),
    frequent(
        "pt",
        "o a os as um uma de do da dos das no na nos nas e ou nao eu meu minha meus minhas seu sua que quem \
         qual quais como quando quanto quantos onde porque por para com sem sobre em ao pelo pela ha tem \
         tenho temos sou sao esta estou este isto isso posso pode podem quero gostaria preciso fazer devo se \
         mas mais muito tambem ja ola obrigado obrigada bom boa dia tarde custa vale foi ser passaporte carta \
         marcacao certidao nascimento cao perdi",
    ),
    frequent(
        "nl",
        "de het een en ik is niet wij we mijn jouw uw ons onze hoe waar wanneer waarom welke moet moeten kan \
         kunnen voor met van op aan bij in uit naar over onder door zonder om te tot of als dat dit die deze \
         er hij zij ze hun hem haar je jij jullie u heb heeft hebben ben bent was waren zijn wordt worden \
         word wil wilt willen zou graag dank bedankt wat wie hallo goedemorgen goedemiddag beste maar ook nog \
         wel geen al mag kost kosten duurt lang dan daar hier nu meer veel nieuw nieuwe oude verlopen nodig \
         krijg krijgen paspoort rijbewijs afspraak gemeente verlengen aanvragen aanmelden verloren kwijt hond \
         afval",
    ),
    frequent(
        "da",
        "den det de en et og jeg er ikke vi min mit mine din dit vores hvordan hvor hvornar hvornaar hvorfor \
         hvilke hvilken skal kan kunne for med af pa paa til fra hos i om under over ved uden efter at som \
         har havde vaere var blev bliver vil ville gerne tak hvad hvem han hun dem der denne disse man hej \
         god dag men ogsa ogsaa eller hvis sa saa nu her mere meget lange laenge koster faa far faar sig mig \
         du nyt gaelder gammel venlig hilsen jer ingen pas korekort koerekort hund tid kommune borgerservice \
         mistet blevet to uger hver nat foran",
    ),
    frequent(
        "no",
        "den det de en et ei og jeg er ikke vi min mitt mine din vares hvordan hvor nar hvorfor hvilke \
         hvilken skal kan kunne ma for med av pa til fra hos i om under over ved uten etter a at som har \
         hadde vaere var ble blir vil ville gjerne takk hva hvem han hun dem der denne disse man hei god dag \
         men ogsa eller hvis sa na her mer mye lenge koster fa far seg meg du nytt trenger noe gjelder pass \
         forerkort hund time kommune mistet blitt to uker",
    ),
    frequent(
        "sv",
        "den det de en ett och jag ar inte vi min mitt mina din vara hur var nar varfor vilka vilken ska \
         skall kan kunde maste for med av pa till fran hos i om under over vid utan efter att som har hade \
         blev blir vill ville garna tack vad vem han hon dem denna dessa man hej god dag men ocksa eller sa \
         nu mer mycket lange kostar far sig mig du nytt behover nagot galler pass korkort hund tid kommun \
         tappat blivit tva veckor",
    ),
    frequent(
        "pl",
        "i w z ze na do od dla po za o u przy przez bez pod nad oraz a ale lub albo czy nie tak jest sa byl \
         byla bylo bede moj moja moje moim mojego nasz nasza pan pani panstwo jak gdzie kiedy dlaczego ile co \
         kto ktory ktora ktore jaki jaka jakie musze moge mozna moze trzeba potrzebuje chce chcialbym \
         chcialabym mam ma mamy prosze dziekuje dzien dobry witam sie mnie mi to ten ta te tego tej juz \
         jeszcze tylko bardzo kosztuje wazny nowy jestem dziecka dzieci zeby paszport paszportu dowod prawo \
         jazdy urzad urzedu pies psa zgubilem zgubilam otwarte otwarty jutro",
    ),
    frequent(
        "cs",
        "a i v ve s se z ze na do od pro po za o u pri bez pod nad nebo ale ne neni je jsou byl byla bylo \
         bude muj moje moji mou mem nas nase vas jak kde kdy proc kolik co kdo ktery ktera ktere jaky jaka \
         jake musim muzu mohu muze lze potrebuji potrebuju chci chtel chtela bych mam ma mame prosim dekuji \
         dobry den si me mi to ten ta te jiz uz jeste jen velmi stoji novy jsem jestli zda ditete deti aby \
         pas pasu prukaz ridicsky urad uradu pes psa ztratil ztratila nebyla nebyl nebylo",
    ),
    frequent(
        "sk",
        "a i v vo s so z zo na do od pre po za o u pri bez pod nad alebo ale nie je su bol bola bolo bude moj \
         moja moje mojho nas nase vas ako kde kedy preco kolko co kto ktory ktora ktore aky aka ake musim \
         mozem moze potrebujem chcem chcel chcela by som mam ma mame prosim dakujem dobry den si sa mi to ten \
         ta te uz este len velmi stoji novy ci dietata deti aby pas pasu preukaz vodicsky urad uradu pes psa \
         stratil stratila",
    ),
    frequent(
        "ro",
        "si in la de pe cu din dupa pentru prin fara sub despre a al ai ale o un una unui unei este e sunt \
         suntem nu eu noi mea meu mei mele dumneavoastra va ma imi mi ne se cum unde cand cat cata cate costa \
         ce cine care daca dar sau trebuie pot poate putem vreau doresc as am are avem fost fie sa buna ziua \
         multumesc rog acest aceasta mai foarte doar nou noua pana cel cea nevoie copil copilul pasaport \
         pasaportul permis programare primarie act acte caine pierdut",
    ),
    frequent(
        "tr",
        "ve bir bu su o ben biz siz benim bizim sizin icin ile mi mu ne nasil nerede nereye nereden zaman \
         neden kac kadar hangi kim var yok degil ama veya ya da de cok daha en sonra once gibi gerekli \
         gerekiyor gerek lazim istiyorum istiyoruz olarak olan oldu olur merhaba tesekkur tesekkurler ederim \
         lutfen iyi gunler her sey yeni miyim misiniz nedir alabilirim yapmam almak etmek hakkinda pasaport \
         ehliyet ehliyetimi randevu belge belgeler belediye adres kopek saat",
    ),
    frequent(
        "hu",
        "a az egy es is nem hogy van vannak volt lesz en mi mit mennyi mennyibe kerul hol mikor hogyan miert \
         melyik kell lehet kerem kerek koszonom szeretnek szeretnem jo napot tisztelt meg el ki be fel le mar \
         csak de vagy ha mert nekem hozzam gyermekem uj ez azt ezt milyen szukseges tudom",
    ),
    frequent(
        "fi",
        "ja on ei en se han minun meidan teidan mina me te he mita missa milloin miten miksi kuinka paljonko \
         mika mitka onko ovat oli olen olemme pitaa taytyy voin voiko voi voinko haluan haluaisin tarvitsen \
         tarvitaan kiitos hei hyva paivaa mutta tai jos etta kun myos viela vain uusi uuden maksaa",
    ),
    frequent(
        "hr",
        "i u na za od do s sa iz o po pri bez je su sam smo ste nije nisam ne da li se si mi me moj moja moje \
         moju nas nasa vas vasa kako gdje gde kada zasto koliko sto sta tko ko koji koja koje trebam treba \
         trebaju mogu moze mozemo moram zelim zelio zeljela imam ima molim hvala dobar dan ali ili ako jer bi \
         biti bio bila to taj ovaj novi nova kosta stoji dijete",
    ),
    frequent(
        "sq",
        "dhe ne te nje eshte jane nuk une ime im jam kam ka kemi si ku kur pse sa cfare kush cili cila per me \
         pa nga deri mund duhet dua doja faleminderit pershendetje miredita por ose qe se tim time kushton i \
         e",
    ),
    frequent(
        "lt",
        "ir yra ne nera as mano mes jus kaip kur kada kodel kiek kas koks kokia kokie man reikia galiu galima \
         noriu noreciau turiu prasau aciu laba diena labas su be is i ant uz po del kad ar arba bet tai sis \
         nauja vaiko kainuoja",
    ),
    frequent(
        "ca",
        "el la els les un una uns de del dels al als i o es no jo meu meva que qui quin quina com quan quant \
         on per perque amb sense sobre en a he ha han soc som esta puc pot vull voldria necessito hi ho tinc \
         te fer si pero mes molt tambe ja hola gracies bon dia costa aquest aquesta",
    ),
];

/// Parts of German words for office matters, with compounds and misspellings.
pub(super) const GERMAN_MATTERS: &str = "ausweis ausweiss reisepas fuhrer fuehrer fuhrerschein schein meldung melden anmeld ummeld abmeld wohnsitz \
    wohnung umzug umgezog verlor verloren verlang verlaeng abgelauf beantrag antrag gebuhr gebuehr tonne mull \
    muell sperrm abfall abhol geleert hundesteuer steuer bescheid strafzettel knollchen bussgeld urkunde \
    geburt heirat hochzeit standesamt burgeramt buergeramt rathaus behorde behoerde strasse schlagloch \
    laterne kaputt parken parkplatz kennzeichen fahrzeug zulassung auto offnungszeit oeffnungszeit geoffnet \
    verlust gestohlen geklaut briefwahl wahlschein kindergarten kitaplatz schule kind larm laerm nachbar \
    termin unterlagen dringend frage rechnung einspruch widerspruch wohngeld fund schlussel umtausch erneuer \
    vergess falsch perso bewohner gewerbe fuhrungszeugnis hund strom wasser geld ung keit heit lich amt haus \
    ruckruf";

/// Parts of English words for office matters.
pub(super) const ENGLISH_MATTERS: &str = "passport licence license permit appointment application birth marriage wedding bins rubbish garbage trash \
    waste collected collection emptied pothole street light broken parking ticket fine dog tax register \
    registration move moved moving address office opening hours stolen expired missing vehicle car plate \
    number school nursery noise neighbour neighbor invoice bill fee fees renewal urgent question complaint \
    change name found wallet keys residence driving driver vote ballot business child bulky pick pickup card \
    bin id certificate where resident closed town hall call access loud neighbours neighbors outside";

/// Rare letters and the languages that use them.
pub(super) const LETTERS: &[(&str, &[&str])] = &[
    ("ß", &["de"]),
    ("ä", &["de", "sv", "fi", "sk"]),
    ("ö", &["de", "sv", "fi", "tr", "hu"]),
    ("ü", &["de", "tr", "hu"]),
    ("łąęćńśźż", &["pl"]),
    ("řěů", &["cs"]),
    ("ľĺŕ", &["sk"]),
    ("ășțţ", &["ro"]),
    ("ğış", &["tr"]),
    ("å", &["da", "no", "sv"]),
    ("æø", &["da", "no"]),
    ("ñ¿¡", &["es"]),
    ("ãõ", &["pt"]),
    ("èêîôœù", &["fr", "it"]),
    ("ő", &["hu"]),
    ("ý", &["cs", "sk"]),
    ("čšž", &["cs", "sk", "hr", "lt"]),
    ("đ", &["hr"]),
    ("ė", &["lt"]),
];
