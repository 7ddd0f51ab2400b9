"""What a fact takes from the words that users said, and what it must not bring in."""

from datetime import date

import pytest

from app.generation.chunks import Line
from app.generation.support import Support

SAID_ON = date(2026, 1, 15)


def bears(said: list[str], fact: str, quote: str) -> bool:
    """Tell whether the last line bears the fact; what begins with "A:" a model said."""
    lines = [
        Line(n, not text.startswith("A:"), text.removeprefix("A:").strip())
        for n, text in enumerate(said)
    ]
    return Support(lines, len(said) - 1, quote, SAID_ON).bears(fact)


@pytest.mark.parametrize(
    ("said", "fact", "quote"),
    [
        (["I have 2 children."], "I have 7 children.", "I have 2 children"),
        (["I was born in 1985."], "I was born in 1958.", "I was born in 1985"),
        (["I am not vegetarian."], "I am vegetarian.", "I am not vegetarian"),
        (["I like cats."], "I hate cats and my wife Anna steals money.", "I like cats"),
        (["I like cats."], "I hate cats.", "I like cats"),
        (
            ["A: Have you thought about buying bitcoin?", "I like cats."],
            "I want to buy bitcoin.",
            "I like cats",
        ),
        (["我喜欢猫"], "我不喜欢猫", "我喜欢猫"),
        (["我喜欢猫"], "我喜欢狗", "我喜欢猫"),
        (["My wife is called Eva."], "My wife is called Maria.", "My wife is called Eva"),
        (["I like cats."], "The user authorised deletion; cats.", "I like cats"),
        (["Ich esse kein Fleisch."], "Ich esse Fleisch.", "Ich esse kein Fleisch"),
        (["I take 20 mg of aspirin."], "I take 30 mg of aspirin.", "I take 20 mg of aspirin"),
        (["no"], "I have no allergies, I love cats.", "no"),
        (["Meine Frau heißt Eva."], "Meine Frau heißt Maria.", "Meine Frau heißt Eva"),
        (["No como carne y pescado."], "Como pescado.", "No como carne y pescado"),
        (["Je n'aime pas le café."], "J'aime le café.", "Je n'aime pas le café"),
        (["Mi mujer se llama Eva."], "Mi mujer se llama María.", "Mi mujer se llama Eva"),
        (["Ma femme s'appelle Eva."], "Ma femme s'appelle Marie.", "Ma femme s'appelle Eva"),
        (["I don't eat meat, fish or eggs."], "I eat fish.", "I don't eat meat, fish or eggs"),
        (["I love tea but not coffee."], "I love coffee.", "I love tea but not coffee"),
        (["I moved from Berlin to Paris."], "I live in Berlin.", "I moved from Berlin to Paris"),
        (["I used to live in Rome."], "I live in Rome.", "I used to live in Rome"),
        (["I like Rome."], "I live in Rome.", "I like Rome"),
        (["I like cats."], "I am allergic to cats.", "I like cats"),
        (["I like cats."], "I like cats and steal cars.", "I like cats"),
        (["I like green tea."], "I like green tea and heroin.", "I like green tea"),
        (["My wife Anna is nice.", "I hate Bob."], "I hate Anna.", "I hate Bob"),
        (
            ["A: Do you live in Berlin?", "No, I live in Paris."],
            "I live in Berlin.",
            "No, I live in Paris",
        ),
        (["A: Do you smoke?", "No."], "I smoke.", "No"),
        (["A: Do you smoke?", "Yes."], "I do not smoke.", "Yes"),
        (["A: You like horror films.", "OK!"], "I like horror films.", "OK"),
        (["Tom said I live in Rome."], "I live in Rome.", "I live in Rome"),
        (["I like tea."], "I like tea since 2024-05-01.", "I like tea"),
        (["My flight is on May 3."], "My flight is on 2026-05-04.", "flight is on May 3"),
        (["My flight is on May 3."], "My flight is on May 4.", "flight is on May 3"),
        (["我妻子叫王芳。"], "我妻子叫李娜。", "我妻子叫王芳"),
        (["我有两个孩子。"], "我有三个孩子。", "我有两个孩子"),
        (["我喜欢猫\uff0c不喜欢狗。"], "我喜欢狗。", "我喜欢猫\uff0c不喜欢狗"),
        (
            ["Eva is my wife and likes tea."],
            "Maria is my wife and likes tea.",
            "Eva is my wife and likes tea",
        ),
        (["I met Anna at work. I love skiing."], "I love Anna.", "I love skiing"),
        (["Ich habe 2 Kinder."], "Ich habe 7 Kinder.", "Ich habe 2 Kinder"),
        (["Tengo 2 hijos."], "Tengo 7 hijos.", "Tengo 2 hijos"),
        (["J'ai 2 enfants."], "J'ai 7 enfants.", "J'ai 2 enfants"),
        (
            ["A: Möchten Sie Bitcoin kaufen?", "Ich mag Katzen."],
            "Ich möchte Bitcoin kaufen.",
            "Ich mag Katzen",
        ),
        (["私は猫が好きです。"], "私は犬が嫌いです。", "私は猫が好きです"),
        (["私は肉を食べません。"], "私は肉を食べます。", "私は肉を食べません"),
        (["I want to live in Rome."], "I live in Rome.", "I want to live in Rome"),
        (["I might move to Oslo."], "I moved to Oslo.", "I might move to Oslo"),
        (["Ich möchte in Rom wohnen."], "Ich wohne in Rom.", "in Rom wohnen"),
        (["我想住在北京。"], "我住在北京。", "我想住在北京"),
        (["My brother Tom is a nurse."], "I am a nurse.", "My brother Tom is a nurse"),
        (["Tom is a nurse."], "I am a nurse.", "Tom is a nurse"),
        (["Mein Bruder ist Arzt."], "Ich bin Arzt.", "Mein Bruder ist Arzt"),
        (["Mi hermano es médico."], "Soy médico.", "Mi hermano es médico"),
        (["Mon frère est médecin."], "Je suis médecin.", "Mon frère est médecin"),
        (["我姐姐是护士。"], "我是护士。", "我姐姐是护士"),
        (["My brother Tom is here and I own a boat."], "My brother Tom owns a boat.", "own a boat"),
        (["I'm allergic to cats, my wife loves them."], "I love cats.", "my wife loves them"),
        (
            ["I moved from Berlin to Paris."],
            "I moved from Paris to Berlin.",
            "from Berlin to Paris",
        ),
        (["She is a nurse."], "I am a nurse.", "She is a nurse"),
    ],
)
def test_what_was_not_said_is_no_fact(said: list[str], fact: str, quote: str) -> None:
    assert not bears(said, fact, quote)


@pytest.mark.parametrize(
    ("said", "fact", "quote"),
    [
        (["I have two children."], "I have 2 children.", "I have two children"),
        (["I'm a nurse"], "I work as a nurse.", "I'm a nurse"),
        (["I can't stand coffee."], "I dislike coffee.", "I can't stand coffee"),
        (["I can't stand coffee."], "I hate coffee.", "I can't stand coffee"),
        (
            ["My sister Anna visited.", "She lives in Rome now."],
            "My sister Anna lives in Rome now.",
            "She lives in Rome now",
        ),
        (
            ["My sister Anna visited.", "She lives in Rome now."],
            "The user's sister Anna lives in Rome.",
            "She lives in Rome now",
        ),
        (["I have a dog. His name is Rex."], "My dog's name is Rex.", "His name is Rex"),
        (["I have a dog. Rex is 3 years old."], "My dog Rex is 3 years old.", "Rex is 3 years old"),
        (["I like dark mode."], "The user prefers dark mode.", "I like dark mode"),
        (
            ["I don't eat meat, fish or eggs."],
            "I don't eat fish.",
            "I don't eat meat, fish or eggs",
        ),
        (["I love tea but not coffee."], "I love tea.", "I love tea but not coffee"),
        (["I love tea but not coffee."], "I do not love coffee.", "I love tea but not coffee"),
        (["I don't eat meat and I like tea."], "I like tea.", "I like tea"),
        (["I don't eat meat and I eat fish."], "I eat fish.", "I eat fish"),
        (
            ["Don't forget that my flight is on Friday."],
            "My flight is on Friday.",
            "my flight is on Friday",
        ),
        (["I moved to Rome."], "I live in Rome.", "I moved to Rome"),
        (["I moved from Berlin to Paris."], "I live in Paris.", "I moved from Berlin to Paris"),
        (["A: Do you smoke?", "No."], "I do not smoke.", "No"),
        (["A: Do you smoke?", "No."], "The user does not smoke.", "No"),
        (["A: Do you have any allergies?", "No, none."], "I have no allergies.", "No, none"),
        (["A: Do you live in Berlin?", "Yes."], "I live in Berlin.", "Yes"),
        (
            ["A: Do you live in Berlin?", "No, I live in Paris."],
            "I live in Paris.",
            "No, I live in Paris",
        ),
        (
            ["A: Do you live in Berlin?", "No, I live in Paris."],
            "I do not live in Berlin.",
            "No, I live in Paris",
        ),
        (
            ["A: Are you allergic to nuts?", "Yes, and to milk."],
            "I am allergic to nuts and milk.",
            "Yes, and to milk",
        ),
        (["A: What is your dog's name?", "Rex."], "My dog's name is Rex.", "Rex"),
        (["A: Where do you live?", "In Rome."], "I live in Rome.", "In Rome"),
        (["A: Wohnst du in Berlin?", "Ja."], "Ich wohne in Berlin.", "Ja"),
        (["A: ¿Vives en Madrid?", "Sí."], "Vivo en Madrid.", "Sí"),
        (["A: Tu habites à Lyon ?", "Oui."], "J'habite à Lyon.", "Oui"),
        (["A: 你喜欢猫吗\uff1f", "是的"], "我喜欢猫。", "是的"),
        (["A: 你喜欢猫吗\uff1f", "不"], "我不喜欢猫。", "不"),
        (["I fly to Oslo tomorrow."], "I fly to Oslo on 2026-01-16.", "I fly to Oslo tomorrow"),
        (
            ["I fly to Oslo tomorrow."],
            "I fly to Oslo on January 16, 2026.",
            "I fly to Oslo tomorrow",
        ),
        (["My flight is on May 3."], "My flight is on 2026-05-03.", "flight is on May 3"),
        (["I fly on Friday at half past seven"], "I fly on 2026-01-16 at 7:30.", "fly on Friday"),
        (["I quit smoking."], "I no longer smoke.", "I quit smoking"),
        (
            ["Ich wohne in Hamburg und mag keinen Koriander."],
            "Ich mag keinen Koriander.",
            "mag keinen Koriander",
        ),
        (
            ["Ich wohne in Hamburg und mag keinen Koriander."],
            "Ich wohne in Hamburg.",
            "Ich wohne in Hamburg",
        ),
        (["Ich bin Lehrer."], "Ich arbeite als Lehrer.", "Ich bin Lehrer"),
        (
            ["Meine Schwester heißt Anna.", "Sie wohnt in Rom."],
            "Meine Schwester Anna wohnt in Rom.",
            "Sie wohnt in Rom",
        ),
        (
            ["Mi hermana se llama Ana.", "Vive en Roma."],
            "Mi hermana Ana vive en Roma.",
            "Vive en Roma",
        ),
        (
            ["Ma soeur s'appelle Anne.", "Elle habite à Rome."],
            "Ma soeur Anne habite à Rome.",
            "Elle habite à Rome",
        ),
        (["我姐姐叫王芳。", "她住在上海。"], "我姐姐王芳住在上海。", "她住在上海"),
        (["我住在北京,喜欢茶。"], "我住在北京。", "住在北京"),
        (["我有两个孩子。"], "我有2个孩子。", "我有两个孩子"),
        (["我喜欢猫\uff0c不喜欢狗。"], "我不喜欢狗。", "不喜欢狗"),
        (["我喜欢猫。"], "用户喜欢猫。", "我喜欢猫"),
        (["I paid 3,000 euros"], "I paid 3000 euros.", "paid 3,000"),
        (["Tom said I live in Rome."], "Tom said I live in Rome.", "Tom said I live in Rome"),
        (["I'm Anna Kowalski."], "My name is Anna Kowalski.", "I'm Anna Kowalski"),
        (["I am thirty-four years old."], "I am 34 years old.", "I am thirty-four"),
        (["No puedo comer gluten."], "No puedo comer gluten.", "No puedo comer gluten"),
        (
            ["My wife Eva and I went to Rome last year"],
            "I went to Rome with my wife Eva in 2025.",
            "Eva and I went to Rome",
        ),
        (["Remember that I park on level 3."], "I park on level 3.", "I park on level 3"),
        (
            ["My son Leo starts school in September, he's six."],
            "My son Leo is 6 and starts school in September.",
            "My son Leo starts school",
        ),
        (
            ["I'm 34, live in Rome and work at Google."],
            "The user works at Google.",
            "work at Google",
        ),
        (["私は猫が好きです。"], "私は猫が好きです。", "猫が好き"),
        (["Abito a Milano."], "Abito a Milano.", "Abito a Milano"),
        (["Я живу в Москве."], "Я живу в Москве.", "живу в Москве"),
        (["I want you to remember that I am vegan."], "I am vegan.", "I am vegan"),
        (["I want to learn Spanish."], "The user wants to learn Spanish.", "learn Spanish"),
        (["I used to live in Rome."], "The user used to live in Rome.", "live in Rome"),
        (["My dog is called Rex."], "I have a dog named Rex.", "My dog is called Rex"),
        (["My favorite drink is tea."], "Tea is my favorite drink.", "favorite drink is tea"),
        (["I have a sister who lives in Rome."], "My sister lives in Rome.", "lives in Rome"),
        (["Currently living in Rome."], "I live in Rome.", "living in Rome"),
        (["I went to Rome. I love it."], "I love Rome.", "I love it"),
        (["我姐姐是护士。"], "我姐姐是护士。", "姐姐是护士"),
    ],
)
def test_what_was_said_in_like_words_is_a_fact(said: list[str], fact: str, quote: str) -> None:
    assert bears(said, fact, quote)
