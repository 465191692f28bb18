//! Stop words for evidence.

/// German and English function words of four letters and more, and words that occur in any ticket.
const EMPTY: &str = "aber alle allem allen aller alles also andere anderen auch auf beim bereits bekomme bekommen \
    bekommt besten bitte bleibt brauche brauchen braucht dabei dafür damit danke dann darf dass dazu dein deine dem \
    denn deren desto diese diesem diesen dieser dieses doch dort durch dürfen eben eigentlich eine einem einen einer \
    eines einfach einmal erst etwas euch euer freundlichen ganz geben geehrte geehrter gegen gehe gehen geht gerade \
    gern gerne gestern gibt grüße grüßen gruß guten haben habe habt hallo hast hatte hatten heute hier hinter ich ihm \
    ihn ihnen ihr ihre ihrem ihren ihrer immer infos irgendwie jede jedem jeden jeder jedes jemand jetzt kann kannst \
    kein keine keinen keiner komme kommen kommt konnte könnte könnten können lange lassen leider liebe lieber machen \
    macht mache meine meinem meinen meiner meines mein mehr mich mir mit möchte möchten morgen morgens muss müssen \
    nach nachdem nämlich nehmen nicht nichts noch nochmal nur oben oder ohne schon sehr seid sein seine seinem seinen \
    seiner seit selbst sich sind sofort soll sollen sollte somit sondern sonst sowie statt über trotzdem unser unsere \
    unserem unseren unserer unten unter viel viele vielen vielleicht vom von vor vorher wann waren wäre warum \
    wegen weil weiter welche welchem welchen welcher welches wenn werde werden wird wieder will wieso wohin wollen \
    wollte worden würde würden wurde wurden zwar zwischen ziemlich seitdem bisher damen herren \
    about after again all also always another any anybody anyone anything around away back because been before being \
    best between both bring came cannot come comes coming could dear didn does doesn doing done down each either else \
    even ever every from gets getting give given goes going gone good hasn have haven having hello help here hers him \
    himself however into isn itself just keep kind know last like long looking made make makes many maybe might mine \
    more most much must myself need needs never next nobody nothing once only other others ours over people please \
    quite rather really regards said same says send seems several shall she should since sir madam some somebody \
    someone something soon still such take takes tell than thank thanks that their them then there these they thing \
    things think this those though through today tomorrow took under until upon very want wanted wants was wasn well \
    went were what when where whether which while who whom whose will wish with within without won wondering would \
    wouldn yesterday yet you your yours";

/// Returns whether a word in lower case is a stop word.
pub(super) fn is_empty(word: &str) -> bool {
    EMPTY.split_whitespace().any(|empty| empty == word)
}
