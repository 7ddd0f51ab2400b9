"""What a request to forget may mean in other words, as a model takes it."""

import pytest

from app.rules.forgetting import may_mean


@pytest.mark.parametrize(
    ("said", "fact", "may"),
    [
        ("my interview", "I have an internship at BMW.", False),
        ("my red car", "I own a blue car.", False),
        ("my contract", "I use contraception.", False),
        ("我的花生过敏", "我的花生过敏很严重", True),
        ("我的花生过敏", "我对花生过敏", True),
        ("我的工作", "我在北京工作", True),
        ("我的红车", "我有一辆蓝车", False),
        ("that I like tea", "I like to drink green tea with my mother", True),
        ("my ex boyfriend", "My boyfriend is called Tom", False),
        ("my university", "I read about the universe", False),
        ("my old address", "My address is Main Street 5", False),
        ("my sister's birthday", "My birthday is in May", False),
        ("meine Katze", "Meine Kathedrale ist schön", False),
        ("my allergies", "I'm allergic to peanuts.", True),
        ("where I work", "I work at Google as an engineer.", True),
        ("meinen Job bei Siemens", "Ich arbeite bei Siemens.", True),
        ("I like tea", "I like coffee.", False),
        ("my 2 dogs", "I have 3 dogs.", False),
        ("everything", "I like tea.", False),
        ("meine Allergien", "Ich bin allergisch gegen Nüsse.", True),
        ("mis alergias", "Soy alérgico a las nueces.", True),
        ("mes allergies", "Je suis allergique aux noix.", True),
        ("mi trabajo en Iberia", "Trabajo en Iberia.", True),
        ("mon travail chez Airbus", "Je travaille chez Airbus.", True),
        ("my job at Siemens", "I work at Siemens as an engineer.", True),
        ("my red sports car", "I own a blue sports car.", False),
        ("my brother's job", "I work at Siemens.", False),
        ("my running", "I run every day", False),
        ("meinen Vertrag", "Meine Verträglichkeit ist gut", False),
        ("mein rotes Auto", "Ich habe ein blaues Auto.", False),
        ("mi coche rojo", "Tengo un coche azul.", False),
        ("ma voiture rouge", "J'ai une voiture bleue.", False),
        ("that I don't like tea", "I like tea.", False),
    ],
)
def test_what_a_request_may_mean(said: str, fact: str, *, may: bool) -> None:
    assert may_mean(said, fact) is may
