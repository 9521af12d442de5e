use super::*;

/// The first article of the Universal Declaration of Human Rights, or more of it.
const TEXTS: &[(&str, &str)] = &[
    (
        "en",
        "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
    ),
    (
        "de",
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    ),
    (
        "fr",
        "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
    ),
    (
        "es",
        "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
    ),
    (
        "pt",
        "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência, devem agir uns para com os outros em espírito de fraternidade.",
    ),
    (
        "it",
        "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.",
    ),
    (
        "nl",
        "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.",
    ),
    (
        "sv",
        "Alla människor är födda fria och lika i värde och rättigheter. De har utrustats med förnuft och samvete och bör handla gentemot varandra i en anda av gemenskap.",
    ),
    (
        "pl",
        "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    ),
    (
        "cs",
        "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.",
    ),
    (
        "da",
        "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og samvittighed, og de bør handle mod hverandre i en broderskabets ånd.",
    ),
    (
        "fi",
        "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
    ),
    (
        "hu",
        "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.",
    ),
    (
        "ru",
        "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.",
    ),
    (
        "uk",
        "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і повинні діяти у відношенні один до одного в дусі братерства.",
    ),
    (
        "el",
        "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση.",
    ),
    (
        "ar",
        "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.",
    ),
    (
        "he",
        "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה.",
    ),
    (
        "hi",
        "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है।",
    ),
    ("ja", "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"),
    ("zh", "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。"),
    ("ko", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."),
    ("th", "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ"),
    (
        "tr",
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.",
    ),
    (
        "vi",
        "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. Mọi con người đều được tạo hoá ban cho lý trí và lương tâm.",
    ),
];

fn found(declared: Option<&str>, text: &str) -> Option<(&'static str, Evidence)> {
    page_language(declared, text).map(|language| (language.code.as_str(), language.evidence))
}

#[test]
fn text_without_a_declaration_is_told() {
    for (code, text) in TEXTS {
        assert_eq!(found(None, text), Some((*code, Evidence::Text)), "{text}");
    }
}

#[test]
fn a_true_declaration_is_confirmed() {
    for (code, text) in TEXTS {
        assert_eq!(found(Some(code), text), Some((*code, Evidence::Both)), "{text}");
    }
    let (_, polish) = TEXTS[8];
    assert_eq!(found(Some("pl-PL"), polish), Some(("pl", Evidence::Both)));
}

#[test]
fn a_false_declaration_is_seen_through() {
    for (code, text) in TEXTS {
        for declared in ["en", "de", "pl", "ja"] {
            if declared != *code {
                assert_eq!(found(Some(declared), text), Some((*code, Evidence::Text)), "{declared}: {text}");
            }
        }
    }
}

#[test]
fn a_language_that_nobody_knows_is_believed_unless_the_text_is_clearly_another() {
    let irish = "Saolaítear gach duine den chine daonna saor agus comhionann i ndínit agus i gcearta. \
        Tá bua an réasúin agus an choinsiasa acu agus ba cheart dóibh gníomhú i dtreo a chéile i spiorad an bhráithreachais.";
    assert_eq!(found(Some("ga"), irish), Some(("ga", Evidence::Declaration)));
    assert_eq!(found(Some("ga"), TEXTS[0].1), Some(("en", Evidence::Text)));
    let galician = "Tódolos seres humanos nacen libres e iguais en dignidade e dereitos e, dotados como están de razón e \
        conciencia, díbense comportar fraternalmente uns cos outros.";
    assert_eq!(found(Some("gl"), galician), Some(("gl", Evidence::Declaration)));
}

#[test]
fn too_little_text_says_nothing() {
    assert_eq!(found(None, ""), None);
    assert_eq!(found(None, "Hello world"), None);
    assert_eq!(found(None, "12345 67890 --- 12345 67890 +++ 12345 67890"), None);
    assert_eq!(found(Some("fr-CA"), "OK"), Some(("fr", Evidence::Declaration)));
    assert_eq!(found(Some("nonsense"), "OK"), None);
}

#[test]
fn only_the_beginning_is_read_and_characters_are_not_cut() {
    let (_, greek) = TEXTS[15];
    let text = greek.repeat(20) + &TEXTS[0].1.repeat(100);
    assert_eq!(found(None, &text), Some(("el", Evidence::Text)));
    for shift in 0..4 {
        let text = format!("{}{}", "x".repeat(shift), greek.replace(' ', "").repeat(9));
        assert!(sample_of(&text).len() <= SAMPLE_BYTES);
    }
}

proptest::proptest! {
    #[test]
    fn whatever_the_text_the_confidence_is_a_share(text in "\\PC{0,400}", declared in proptest::option::of("[a-zA-Z-]{0,6}")) {
        if let Some(language) = page_language(declared.as_deref(), &text) {
            assert!((0.0..=1.0).contains(&language.confidence), "{language:?}");
        }
    }
}
