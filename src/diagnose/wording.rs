//! How an answer was put, when the rule did not read it: mark-up, colon, LaTeX, lower case, other words, other languages.

use std::cell::LazyCell;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Cause;

/// A letter that is named, not the article A or the pronoun I: those only with a sign right after them.
const LETTER: &str = r"(?:[B-HJ](?:_|\b)|[AI](?:_|\b)(?:[).:,;*_`\]\n]|\z))[)\]*_`]*";

/// The same with what stands before it: in scripts without blanks between words a letter needs no edge on that side. Full
/// width letters count.
const NAMED: &str = r#"(?:[\s\p{P}\p{S}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}](?:[B-HJＢ-ＨＪ](?:[^A-Za-z0-9_\p{Latin}]|\z)|[AIＡＩ](?:[).:,;*_`\]\n）】」』”。，、]|\s*\z))|[(\["'（［【「『《“][A-JＡ-Ｊ][)\]"'）］】」』》”])"#;

/// "answer", "option", "choice", "correct", "choose" in other languages.
const SAID: &str = "(?i:答案|正解|選択肢|选项|選項|选择|選擇|应选|應選|该选|該選|选|選|正确|正確|答え|回答|解答|정답|답은|답:|선택|보기|\
    \\b(?:respuesta|opci[oó]n|alternativa|correct[ao]|r[eé]ponse|choix|bonne|antwort|l[oö]sung|richtig|auswahl|resposta|\
    op[cç][aã]o|corret[ao]|risposta|opzione|scelta|antwoord|keuze|svar|svaret|riktig|odpowied[zź]|odpov[eě]ď|cevap|\
    yan[ıi]t|se[cç]enek|jawaban|pilihan|r[aă]spuns|v[aá]lasz|vastaus)|\
    ответ|вариант|правильн|відповідь|отговор|απάντηση|תשובה|الإجابة|الجواب|الخيار|إجابة|پاسخ|گزینه|उत्तर|विकल्प|উত্তর|đáp án|\
    lựa chọn|câu trả lời|คำตอบ|ตอบ|ข้อ)";

/// Not among the options, in other words. English words alone, so their edges are those of ASCII, which are found fastest.
const UNLISTED: &str = r"(?i:(?:(?-u:\b)not|n['’]t|(?-u:\b)none|(?-u:\b)neither|(?-u:\b)no)(?-u:\b)[^.!?\n]{0,40}?(?-u:\b)(?:(?:listed|offered|provided|given|included|present)(?-u:\b)|(?:among|of|in|with|match(?:es|ing)?|one of)\s+(?:any\s+of\s+)?(?:the|these|those|any)\s+(?:\w+\s+){0,3}?(?:options?|choices?|answers?|alternatives?)(?-u:\b)|(?:options?|choices?)\s+(?:match(?:es)?|fits?|is|are)(?-u:\b))|(?:答案|结果|選項|选项)?不在(?:选项|選項)|没有(?:正确|匹配)?的?选项|沒有(?:正確)?的?選項)";

struct Wording {
    cause: Cause,
    pattern: Regex,
    /// Only a text with one of the words of [`SAID`] can match.
    needs_said: bool,
}

/// The words of [`SAID`] wherever they stand: found in one quick pass, which most texts end with.
static SAYS: LazyLock<Regex> = LazyLock::new(|| Regex::new(&SAID.replace("\\b", "")).expect("a constant pattern"));

static WORDINGS: LazyLock<Vec<Wording>> = LazyLock::new(|| {
    let list = [
        // "is **C**", "is: `C`", "is <b>C</b>"
        (Cause::Bold, r"\bis\s*:?\s*(?:[*_`~#]+|<[a-z]{1,6}>)[\s*_`(\[]*LETTER"),
        // "answer is: C", "**Answer:** (C)", "option is: C"
        (
            Cause::Colon,
            r#"(?i:\banswer(?:\s+is)?|\b(?:option|choice)\s+is)[*_`~\s]*[:：][*_`~\s(\["']*(?i:option\s+|choice\s+)?[*(]*LETTER"#,
        ),
        // "\boxed{C}", "answer is $\text{(C)}$"
        (
            Cause::Latex,
            r"\\f?boxed\s*\{[\s$({]*(?:\\[a-z]+\s*\{[\s(]*)?[A-J]\b[)}]*",
        ),
        (
            Cause::Latex,
            r"ANSWER(?:\$|\\\(|\\\[)+[\s({]*(?:\\[a-z]+\s*\{[\s(]*)?[A-J]\b[)}]*",
        ),
        // "answer is (b)", "option c."
        (
            Cause::Lower,
            r"(?i:\b(?:answer|option|choice))(?:\s+(?i:is))?\s*[:：]?\s*[*_`]*(?:\([a-j]\)|\[[a-j]\]|[a-j](?:[),;:!*_`]|\.(?:\s|\z)|\s*(?:\n|\z)))",
        ),
        // "option C", "the correct one is (C)"; "(C) is correct"
        (
            Cause::Wording,
            r#"(?i:\b(?:option|choice|answer|letter))\s+(?:is\s+)?["'(\[]*[A-J]\b\)?"#,
        ),
        (
            Cause::Wording,
            r#"(?i:\b(?:answer|option|choice|correct))[^.!?\n]{0,60}?(?:\b[B-HJ]\b|[(\["'*`$][AI][)\]"'*`$.:])\)?"#,
        ),
        (
            Cause::Wording,
            r#"(?:\b[B-HJ]\b|[(\["'*`$][AI][)\]"'*`$.:])[^.!?\n]{0,60}?(?i:\b(?:answer|option|choice|correct)\b)"#,
        ),
        (Cause::Wording, r"SAID[^.!?。！？\n]{0,40}?NAMED"),
        (
            Cause::Wording,
            r#"(?:\b[B-HJ]\b|[(\["'（【「『“][A-J][)\]"'）】」』”])[^.!?。！？\n]{0,40}?SAID"#,
        ),
        (
            Cause::Wording,
            r"(?:^|[^A-Za-z\p{Latin}])[A-J](?:是|为|為|が|は|이|가|选项|選項)[^.!?。！？\n]{0,12}?SAID",
        ),
        // "C. Paris", "(C) Paris, for it is" at the very beginning
        (
            Cause::Leading,
            r#"\A[\s*_`#>"']*(?:[(\[（][A-J][)\]）]|[A-J](?:[*_`]*[.):：、]|[*_`]*\s*\n|[*_`\s]*\z|\s+[-–—=]))[*_`]*"#,
        ),
        // "is (C)", "is C."
        (
            Cause::Is,
            r#"(?i:(?-u:\b)(?:is|are|be|namely|hence|therefore|thus))[:,]?\s*[*_`]*(?:[(\["'][A-J][)\]"']|[B-HJ](?:[*_`]*(?:[.;*_`\n]|\s*\z)))"#,
        ),
        // A value instead of a letter, where no letter is named either: "\boxed{2.5}", "answer is $-4\pi$", but no price.
        (Cause::Latex, r"\\f?boxed\s*\{[^{}\n]{0,60}\}?"),
        (
            Cause::Latex,
            r"ANSWER(?:\\\(|\\\[|\$\$?[^\s$](?:(?:[^$\n.,]|[.,][^\s$]){0,118}[^\s$])?\$)",
        ),
        (Cause::Unlisted, "UNLISTED"),
    ];
    let answer = r"(?i:\banswer(?:\s+is)?)[*_\s]*[:：]?[*_\s]*";
    let compile = |pattern: &str| {
        let parts = [
            ("LETTER", LETTER),
            ("ANSWER", answer),
            ("NAMED", NAMED),
            ("SAID", SAID),
            ("UNLISTED", UNLISTED),
        ];
        let pattern = parts
            .iter()
            .fold(pattern.to_owned(), |pattern, (name, part)| pattern.replace(name, part));
        Regex::new(&pattern).expect("a constant pattern")
    };
    list.into_iter()
        .map(|(cause, pattern)| Wording {
            cause,
            pattern: compile(pattern),
            needs_said: pattern.contains("SAID"),
        })
        .collect()
});

/// The cause, and the stretch of text that shows it: the last one, which is nearest to a conclusion.
pub(super) fn cause(text: &str) -> Option<(Cause, Range<usize>)> {
    let says = LazyCell::new(|| SAYS.is_match(text));
    WORDINGS.iter().find_map(|wording| {
        if wording.needs_said && !*says {
            return None;
        }
        let found = wording.pattern.find_iter(text).last()?;
        let shown = found
            .as_str()
            .trim_end_matches(['.', ',', ':', ';', '\n', '。', '，', '、']);
        Some((wording.cause, found.start()..found.start() + shown.len()))
    })
}
