//! Load: callers that each wait for an answer before they send again, all on one thread.

use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{LocalBoxFuture, try_join_all};

/// One caller.
pub(crate) trait Caller {
    /// Connects anew, since servers end connections that say nothing for long; not measured.
    ///
    /// # Errors
    /// When the server refuses it.
    async fn connect(&mut self) -> anyhow::Result<()>;

    /// Sends one request and waits for its answer; answers how many operations that was.
    ///
    /// # Errors
    /// When the answer is not the expected one.
    async fn call(&mut self) -> anyhow::Result<u64>;

    /// Clears away what the calls left; not measured.
    ///
    /// # Errors
    /// When that is refused.
    async fn settle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Something that can be measured again and again.
pub(crate) trait Load {
    /// Connects every caller anew; not measured.
    fn connect(&mut self) -> LocalBoxFuture<'_, anyhow::Result<()>>;

    /// Calls for a while; answers how many operations were done, and how long that took until the last answer.
    fn run(&mut self, window: Duration) -> LocalBoxFuture<'_, anyhow::Result<Done>>;

    /// Clears away what the calls left; not measured.
    fn settle(&mut self) -> LocalBoxFuture<'_, anyhow::Result<()>>;
}

/// Finished operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Done {
    pub(crate) operations: u64,
    pub(crate) elapsed: Duration,
}

impl<C: Caller> Load for Vec<C> {
    fn connect(&mut self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        async move {
            for caller in self {
                caller.connect().await?;
            }
            Ok(())
        }
        .boxed_local()
    }

    fn run(&mut self, window: Duration) -> LocalBoxFuture<'_, anyhow::Result<Done>> {
        async move {
            let began = Instant::now();
            let callers = self.iter_mut().map(|caller| async move {
                let mut operations = caller.call().await?;
                while began.elapsed() < window {
                    operations += caller.call().await?;
                }
                anyhow::Ok(operations)
            });
            let operations = try_join_all(callers).await?.into_iter().sum();
            Ok(Done { operations, elapsed: began.elapsed() })
        }
        .boxed_local()
    }

    fn settle(&mut self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        async move {
            for caller in self {
                caller.settle().await?;
            }
            Ok(())
        }
        .boxed_local()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(u64);

    impl Caller for Counting {
        async fn connect(&mut self) -> anyhow::Result<()> {
            Ok(())
        }

        async fn call(&mut self) -> anyhow::Result<u64> {
            self.0 += 1;
            anyhow::ensure!(self.0 < 4, "enough");
            Ok(10)
        }
    }

    #[tokio::test]
    async fn every_caller_calls_at_least_once_and_operations_are_summed() {
        let mut callers = vec![Counting(0), Counting(0)];
        assert_eq!(callers.run(Duration::ZERO).await.expect("done").operations, 20);
    }

    #[tokio::test]
    async fn an_answer_that_is_not_expected_ends_the_load() {
        assert!(vec![Counting(0)].run(Duration::from_secs(60)).await.is_err());
    }
}
