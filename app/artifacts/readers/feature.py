"""Registration of readers."""

from app.artifacts.readers.routes import router
from app.web.feature import Feature

FEATURE = Feature(
    "readers",
    routers=(router,),
)
