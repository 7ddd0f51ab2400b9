"""Registration of contexts."""

from app.conversation.contexts.routes import router
from app.web.feature import Feature

FEATURE = Feature(
    "contexts",
    routers=(router,),
)
