package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.Await;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.QueuePairType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every asynchronous event of C, also those that no software device raises, with the object that
 * {@code ibv_get_async_event(3)} lists it under.
 */
class AsyncEventKindsTest extends FakeDeviceFixture {
  private static final int PORT = 1;

  @ParameterizedTest
  @EnumSource(value = AsyncEventType.class, mode = EnumSource.Mode.EXCLUDE, names = "UNKNOWN")
  void eventHasTheObjectItConcerns(AsyncEventType type) throws InterruptedException {
    CompletionQueue cq = context.createCompletionQueue(4);
    SharedReceiveQueue srq = SharedReceiveQueue.create(pd, 4);
    QueuePair qp = QueuePair.builder(pd, QueuePairType.RC).completions(cq).create();
    WorkQueue wq = WorkQueue.builder(pd).completions(cq).create();
    AsyncEvent expected =
        switch (type) {
          case CQ_ERR -> new AsyncEvent.OfCompletionQueue(type, cq);
          case QP_FATAL,
              QP_REQ_ERR,
              QP_ACCESS_ERR,
              COMM_EST,
              SQ_DRAINED,
              PATH_MIG,
              PATH_MIG_ERR,
              QP_LAST_WQE_REACHED ->
              new AsyncEvent.OfQueuePair(type, qp);
          case SRQ_ERR, SRQ_LIMIT_REACHED -> new AsyncEvent.OfSharedReceiveQueue(type, srq);
          case WQ_FATAL -> new AsyncEvent.OfWorkQueue(type, wq);
          case DEVICE_FATAL, DEVICE_SPEED_CHANGE -> new AsyncEvent.OfDevice(type, context.device());
          case PORT_ACTIVE,
              PORT_ERR,
              LID_CHANGE,
              PKEY_CHANGE,
              SM_CHANGE,
              CLIENT_REREGISTER,
              GID_CHANGE ->
              new AsyncEvent.OfPort(type, PORT);
          case UNKNOWN -> throw new AssertionError("not among the values");
        };
    provider.internals().event(context.segment().address(), type.code(), element(expected));
    assertEquals(expected, AsyncEvents.of(context).poll(Await.LIMIT));
  }

  /** What C's union holds for such an event. */
  private static long element(AsyncEvent event) {
    return switch (event) {
      case AsyncEvent.OfCompletionQueue(var type, var queue) -> queue.address();
      case AsyncEvent.OfQueuePair(var type, var pair) -> pair.address();
      case AsyncEvent.OfSharedReceiveQueue(var type, var queue) -> queue.address();
      case AsyncEvent.OfWorkQueue(var type, var queue) -> queue.address();
      case AsyncEvent.OfPort(var type, int port) -> port;
      case AsyncEvent.OfDevice(var type, var device) -> 0;
      case AsyncEvent.Unknown(int code, var device) -> 0;
      case AsyncEvent.OfForeignObject(var type, var object) -> object.address();
    };
  }
}
