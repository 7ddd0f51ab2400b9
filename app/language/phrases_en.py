"""The phrases of English; see `phrases.Phrases` for the meaning of each pattern."""

from app.language.phrases import Phrases, any_case

ENGLISH = Phrases(
    first=any_case(
        r"(?<![\w/])I(?![\w/])|\b(?:I'?(?:m|ve|d|ll)|my|mine|me|we|we'(?:re|ve|d|ll)|our|ours|us|myself)\b"
    ),
    preference=any_case(
        r"\b(?:prefer\w*|favou?rites?|(?:I|we)(?:'d)?(?: \w+){0,2} (?:like|love|enjoy|hate|dislike"
        r"|adore|loathe)|can'?t stand|cannot stand|fan of|(?:am|'m|not|really) (?:really )?(?:into"
        r"|keen on|fond of)|(?:don|didn)'?t (?:like|enjoy|care for|eat|drink|want)|(?:do"
        r"|did) not (?:like|enjoy|eat|drink)|no longer (?:like|enjoy|eat|drink|want)|rather (?:have"
        r"|not|use|take|go)|i usually|i always|i never|vegan|vegetarian|pescatarian|(?:stopped"
        r"|gave up|quit) (?:\w+ing|\w+)|(?:works|suits) (?:best|better) for me|smokes?|vape"
        r"|obsessed with"
        r"|passion\w*|hooked on|go-to)\b"
    ),
    personal=any_case(
        r"\b(?:my (?:\w+'s )?(?:full |first |last |middle )?(?:name|age|birthday|address|e-?mail"
        r"|phone|mobile|number)|call me|I (?:\w+ )?(?:live|work|study|teach|grew up|was born|speak"
        r"|own|drive|rent)|I'?(?:m| am)(?: \w+)? (?:an?|the|from|based|allergic|intolerant|diabetic"
        r"|married|single|divorced|engaged|pregnant|retired|\d{1,3})\b|my \w*(?:husband|wife"
        r"|partner|girlfriend|boyfriend|fianc\w+|son|daughter|kids?|child(?:ren)?|baby|mom|mum"
        r"|mother|dad|father|parents|brother|sister|siblings?|grand\w+|aunt|uncle|cousin|nephew"
        r"|niece|dog|cat|pet|puppy|kitten|horse|boss|manager|team|company|employer|job|doctor|car"
        r"|house|apartment|flat|home\w*|family|friends?|allerg\w+|diagnos\w+|blood|health|back|knee"
        r"|surgery)|we have (?:\w+ ){0,2}(?:kids|children)|I (?:\w+ )?have (?:an?|two|three|four"
        r"|five|no|type|high|low|\d+)\b|I (?:take|suffer)|allergic|allergy|diagnosed)\b"
    ),
    event=any_case(
        r"\b(?:moved|moving|bought|got|started|starting|finished|graduated|joined|visited|went"
        r"|going to|flew|fly|flying|travel\w*|met|married|engaged|broke|lost|won|sold|adopted|born"
        r"|died|passed|signed|booked|planned|planning|plan to|will|'ll|decided|quit|left|leaving"
        r"|hired|promoted|launched|ordered|paid|hurt|injured|diagnosed|learn\w*|made|built|wrote"
        r"|read|saw|watched|ran|took|tak(?:e|ing) up|attend\w*|celebrat\w*|appointment|meeting|trip"
        r"|wedding|exam|interview|deadline|flight|vacation|holiday|conference|concert|party|been"
        r"|used to|tried|gave|helped|volunteer\w*|apply\w*|applied|accepted|research\w*|working on"
        r"|training|called|named)\b"
    ),
    remember=any_case(
        r"^(?:(?:so|and|also|ok(?:ay)?|but|oh),? )*(?:(?:can|could|would|will) you )?(?:please "
        r"|pls )?(?:just )?(?:I(?: want| need| would like| would love|'?d like"
        r"|'?d love) you to |you should "
        r"|make sure (?:to|you) )?(?:please )?(?:always )?(?:remember(?: for (?:me|next time"
        r"|the future))?,? ?(?:that|:|,)|remember (?=(?:I|my|I'm|we|our)\b)"
        r"|keep in mind(?:,? that|:|,)?"
        r"|bear in mind(?:,? that|:)?|(?:make a |take )?note (?:that|down that|:)"
        r"|make a note(?: that|:| of)?|for the record[,:]|for (?:future reference|next time)[,:]"
        r"|fyi[,:]?|just so you know[,:]?|save (?:that|this:)|store (?:that|this:))\s*(?P<said>.+)$"
    ),
    forget=any_case(
        r"^(?:(?:so|and|also|ok(?:ay)?|but|oh|actually|wait|sorry|hey|now|by the way"
        r"|btw),? )*(?:(?:can|could|would|will) (?:you|u) |you (?:can|may|should|must) "
        r"|(?:would|do) you mind |(?:it(?:'d| would) be \w+|I(?:'d| would) (?:\w+ ){1,2}?(?:it )?)"
        r"(?<!if) ?if you (?:could |would )?)?(?:please "
        r"|pls )?(?:just )?(?:I(?: want|'d like| would like"
        r"| need) you to )?(?:please )?(?:completely )?(?:(?:forget|forgot|(?<=mind )forgetting) "
        r"(?!to\b|it\b|me\b|not\b)(?:(?:what"
        r"|everything|anything|all|whatever) (?:that )?(?:I(?:'ve)? (?:\w+ )?(?:said|told you"
        r"|mentioned|shared|wrote)(?: to you)?|you (?:\w+ )?know|you have)?(?: (?:about|on"
        r"|regarding))?|about|the fact that|that)?|(?:do ?n'?o?t|no longer"
        r"|stop) remember(?:ing)?(?: that| about)?|I(?: do ?n'?t| do not| no longer) want you to "
        r"(?:remember|keep|know|store)(?: that| about)?|I(?:'d| would) rather you (?:did ?n'?o?t"
        r"|forgot|not) ?(?:remember|keep|know|store)?|stop (?:keeping|storing|tracking|saving)"
        r"(?: track of)?|do(?:n't| not) need to (?:know|remember"
        r"|keep)(?: that| about)?|(?:delete|deleted|remove|removed|(?<=mind )(?:delet|remov"
        r"|eras)ing|erase|wipe|clear|purge|scrap"
        r"|scratch|drop|discard|strike"
        r"|get rid of|throw (?:out|away))(?= .*(?:memor|you know|remember|my |the fact|what"
        r" (?:i|you)\b"
        r"|(?:everything|anything|all) |about)) (?:(?:what|everything|anything|all|whatever)"
        r" (?:that )?(?:I(?:\'ve)? (?:\w+ )?(?:said|told you|mentioned|shared|wrote)(?: to"
        r" you)?|you (?:\w+ )?(?:know|have|stored|saved|remember))(?: (?:about|on|of"
        r"|regarding))?)?)(?: from (?:your )?memory)?\s*(?P<said>.+)$"
    ),
    polite=any_case(
        r"^(?:[\w']+,? ){0,3}?(?:can|could|would|will|do) (?:you|u)\b|^I(?:'d| would| want| need)\b"
        r"|\b(?:please|pls)\b"
    ),
    always=any_case(
        r"^(?:please |and |so |also |by the way,? |in (?:the )?future,? |from now on,? "
        r"|going forward,? )*(?:always |never |from now on|going forward|in (?:the )?future,"
        r"|call me |address me|(?:be|keep it|stay) (?:more |very )?(?:brief|concise|short"
        r"|formal|informal"
        r"|polite|direct|simple|specific|honest)\b|(?:answer|reply|respond|write|speak|talk)"
        r" (?:to me )?(?:in|with"
        r"|only)\b|(?:do ?n'?o?t|no need to) (?:ever )?(?:suggest|recommend|call|contact|email|send"
        r"|show|book|use|mention|remind|offer)\b|use (?:metric|celsius|fahrenheit|kilomet|imperial"
        r"|bullet|simple|short|my )|keep (?:your |the )?(?:answers|replies|responses)|remind me )"
    ),
    talk=any_case(
        r"^(?:(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|night|day)|bye"
        r"|goodbye|see (?:you|ya)|take care|cheers|thanks?|thank you|thx|ty|welcome|congrat\w*"
        r"|happy (?:birthday|new year|holidays))\b.*|(?:ok(?:ay)?|yes|yep|yeah|yup|sure|no|nope"
        r"|right|alright|great|perfect|awesome|cool|nice|wow|oh|ah|hm+|lol|haha\w*|good|fine|sweet"
        r"|amazing|excellent|fantastic|wonderful|exactly|absolutely|definitely|totally|agreed"
        r"|indeed|understood|got it|no problem|no worries|sounds (?:good|great|fun|like .*)"
        r"|never ?mind|of course|(?:not )?at all|anyway\w*|you too|same here|me too|me neither"
        r"|my bad|just a (?:sec|second|moment|minute)|one (?:sec|second"
        r"|moment))(?:[\s,.!]+\w+){0,3}|(?:that|this|it)(?:'s| is| was| sounds| looks"
        r"| would be)? (?:\w+ ){0,3}(?:great|good|nice|helpful|perfect|awesome|amazing|cool|fine"
        r"|right|true|correct|fun|wonderful|lovely|interesting|funny|bad|sad|sense|works?|it|all|me"
        r"|now)\b.*|I(?:'m| am)? ?(?:(?:so |really |very |all |just |pretty |doing "
        r"|feeling )*(?:fine|good|great|well|ok(?:ay)?|sorry|sure|not sure|afraid|glad"
        r"|happy to (?:hear|help)|curious|wondering|confused|here|back|ready|done|listening|kidding"
        r"|joking|looking forward|browsing|grateful|thankful)\b.*|(?:don'?t|do not) (?:know"
        r"|think so|mind|care|understand|get it|remember)\b.*|(?:have|'ve got|got) (?:a|one|another"
        r"|some) (?:\w+ )?questions?\b.*|(?:(?:see|know|understand|agree"
        r"|mean)(?!(?: [\w']+)? (?:the|my|an?|how|some|\w+ (?:on|at|and|for))\b)"
        r"|think so|guess|hope so"
        r"|suppose|believe so|appreciate|bet|wonder|wish you|forgot)\b.*|(?:need|want|would like"
        r"|'d like|could use) (?:(?:some|a bit of|your) )?(?:help|advice|to (?:know|ask|see if"
        r"|check|thank))\b.*|was (?:just )?wondering\b.*|(?:will|'ll) (?:try|think about"
        r"|let you know|check|see|do)\b(?: \w+){0,3}|(?:really )?(?:love|like|enjoy) (?:it|that"
        r"|this|them)(?: \w+){0,2}|hope (?:you|that helps|this helps)\b.*|have to (?:go|run)\b.*"
        r"|(?:'ll|will|shall) (?:talk|see|catch) .*|can'?t wait)|let me (?:know|check|see"
        r"|think)\b.*|let'?s (?:see|go|do (?:it|that|this))\b.*|how (?:are|is|nice|lovely|exciting"
        r"|cool|about)\b.*|what an? \w+.*|you(?:'re| are) (?:\w+ )?(?:welcome|right|great|awesome"
        r"|the best|kind|amazing|so \w+)\b.*|talk (?:to you )?(?:soon|later).*|(?:have|enjoy) (?:a"
        r"|your) (?:\w+ )?(?:day|evening|night|weekend|one|time)\b.*|keep (?:it up|up the).*"
        r"|good (?:luck|job|for you|idea|point).*|my pleasure.*|you know.*"
        r"|(?:so |I'm )?sorry(?:[\s,]+(?:I (?:was|am) wrong|my (?:mistake|bad|fault)"
        r"|about (?:that|it|this)))?|no,? thanks?.*|(?:it's )?(?:just )?me again.*|it's me\b.*"
        r"|I (?:have |already |also )*(?:tried|did|do|saw|heard|got|checked) (?:it|that"
        r"|this)\b.*)[\s.!,)]*$"
    ),
    opening=any_case(
        r"^(?:hm+ |(?:hi|hello|hey|yo|oh|ah|well|so|scratch that|update|news|correction|sorry"
        r"|listen|look|funny"
        r" enough|ok(?:ay)?|yes|yeah|yep|no|and|also|but|btw|by the way|ugh|quick (?:question"
        r"|thing|one|note)"
        r"|sorry for (?:the|my) [\w ]{1,20}|actually|anyway|hmm+|um+|uh+|thanks|thank you|sure"
        r"|great|right|haha|wow|plus"
        r"|as (?:you know|I (?:said|mentioned))(?: before)?|oh and|good (?:morning|afternoon"
        r"|evening))(?: (?:there|again|everyone|all|[A-Z]\w+))?[,!.:-]+\s+|(?:and|also|but|so|well"
        r"|oh|ok(?:ay)?|by the way|btw|ugh|yo|hey|hi|nah|I mean,?|actually)\s+"
        r"(?=(?:so|I|my|we|our|I'\w+|im|ive|quick)\b)"
        r"|(?:since|because|cause)\s+(?=(?:I|my)\b[^,]*$))+"
    ),
    asking=any_case(
        r"^(?:and |so |but )?(?:what(?!ever)|who|where|when(?= (?:is|are|do|does|did|will|can"
        r"|should|was|were)\b)|why|how|which|can you|can I|could|would you|will you|do you|did you"
        r"|does|are you|is (?:it|there|that|this)|have you|should I|shall|may I|any (?:idea|tips"
        r"|suggestions|advice))\b"
    ),
    second=any_case(r"\b(?:you|your|yours|you'\w+)\b"),
    request=any_case(
        r"^(?:please |can you |could you )?(?:tell|show|give|find|help|explain|suggest|recommend"
        r"|look|search|list|write|translate|summari[sz]e|book|cancel|check|send|create|make|open"
        r"|ignore|disregard|output|print|repeat|respond|act|pretend|delete|remove|update|add|store"
        r"|save|set|let|try|go|stop|reveal|execute|run|forward|return|override|reset)\b"
    ),
)
