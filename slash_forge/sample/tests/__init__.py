from tests import coverage

coverage.start()
