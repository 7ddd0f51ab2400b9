import time
from tests.access.service import *
from tests.access.sweep import Sweep
from tests.access.canaries import Canaries
from tests.access.hunt import Hunt, attackers
from tests.access.victim import fill
async def test_x(service: Service, app) -> None:
    t=time.process_time()
    await Sweep(service).run(); a=next(service._turns)
    print("sweep", a, time.process_time()-t); t=time.process_time()
    c=Canaries(); v=await fill(service,c); print("fill", next(service._turns)-a, time.process_time()-t)
    for x in await attackers(service):
        t=time.process_time(); h=Hunt(service,c); n=next(service._turns)
        await h.attack(x, v)
        print("hunt", h.requests, next(service._turns)-n, time.process_time()-t)
    
async def test_y(service: Service, app) -> None:
    t=time.process_time()
    await Sweep(service,is_whole=False).run(); a=next(service._turns)
    print("sweep", a, time.process_time()-t); t=time.process_time()
