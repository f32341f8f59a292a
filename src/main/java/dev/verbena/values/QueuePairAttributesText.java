package dev.verbena.values;

import dev.verbena.internal.AttributeText;
import java.util.function.Supplier;

/** The text of those attributes of a queue pair that are in the mask. */
final class QueuePairAttributesText {
  private final QueuePairAttributes attributes;
  private final AttributeText text = new AttributeText(QueuePairAttributes.class);

  QueuePairAttributesText(QueuePairAttributes attributes) {
    this.attributes = attributes;
    add(QueuePairAttribute.STATE, "state", attributes::state);
    add(QueuePairAttribute.CUR_STATE, "currentState", attributes::currentState);
    add(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY, "notifyDrained", attributes::notifyDrained);
    add(QueuePairAttribute.ACCESS_FLAGS, "access", attributes::access);
    add(QueuePairAttribute.PKEY_INDEX, "pkeyIndex", attributes::pkeyIndex);
    add(QueuePairAttribute.PORT, "port", attributes::port);
    add(QueuePairAttribute.QKEY, "queueKey", attributes::queueKey);
    add(QueuePairAttribute.AV, "path", attributes::path);
    add(QueuePairAttribute.PATH_MTU, "pathMtu", attributes::pathMtu);
    add(QueuePairAttribute.TIMEOUT, "ackTimeout", attributes::ackTimeout);
    add(QueuePairAttribute.RETRY_CNT, "retryCount", attributes::retryCount);
    add(QueuePairAttribute.RNR_RETRY, "rnrRetryCount", attributes::rnrRetryCount);
    add(QueuePairAttribute.RQ_PSN, "receivePsn", attributes::receivePsn);
    add(QueuePairAttribute.MAX_QP_RD_ATOMIC, "readsAsInitiator", attributes::readsAsInitiator);
    add(QueuePairAttribute.ALT_PATH, "alternatePath", attributes::alternatePath);
    add(QueuePairAttribute.MIN_RNR_TIMER, "minRnrTimer", attributes::minRnrTimer);
    add(QueuePairAttribute.SQ_PSN, "sendPsn", attributes::sendPsn);
    add(QueuePairAttribute.MAX_DEST_RD_ATOMIC, "readsAsTarget", attributes::readsAsTarget);
    add(QueuePairAttribute.PATH_MIG_STATE, "migrationState", attributes::migrationState);
    add(QueuePairAttribute.CAP, "capacity", attributes::capacity);
    add(QueuePairAttribute.DEST_QPN, "destination", attributes::destination);
    add(QueuePairAttribute.RATE_LIMIT, "rateLimit", attributes::rateLimit);
    add(QueuePairAttribute.STATE, "isDraining", attributes::isDraining);
  }

  private void add(QueuePairAttribute attribute, String name, Supplier<?> value) {
    if (attributes.mask().contains(attribute)) {
      text.add(name, value.get());
    }
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
