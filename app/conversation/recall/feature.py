"""Registration of recall."""

from app.conversation.recall.routes import router
from app.web.feature import Feature

FEATURE = Feature(
    "recall",
    routers=(router,),
)
