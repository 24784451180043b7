# The mixed model as reviewers run it: Rscript comparator_lmer.R FOLDER OUT.csv [MINUTES] (Debian: r-cran-lmertest).
# FOLDER holds tables ROW_SEED.csv of system,document,rater,score. Each pair of systems of each table is a line of
# OUT.csv: difference, half the width of its interval, adjusted p-value; tables that are there are not run again.
# Satterthwaite's degrees of freedom are those of each contrast, Tukey's range is ptukey's.
suppressMessages(library(lmerTest))
words <- commandArgs(TRUE)
minutes <- if (length(words) > 2) as.numeric(words[3]) else Inf
begun <- Sys.time()
done <- if (file.exists(words[2])) unique(paste(read.csv(words[2])$row, read.csv(words[2])$seed, sep = "_")) else character()
files <- list.files(words[1], "^[0-9]+_[0-9]+[.]csv$")
key <- do.call(rbind, strsplit(sub("[.]csv$", "", files), "_"))
for (k in order(as.integer(key[, 2]), file.size(file.path(words[1], files)))) {
  if (paste(key[k, 1], key[k, 2], sep = "_") %in% done) next
  if (difftime(Sys.time(), begun, units = "mins") > minutes) break
  d <- read.csv(file.path(words[1], files[k]))
  for (column in c("system", "document", "rater")) d[[column]] <- factor(d[[column]])
  n <- nlevels(d$system)
  pairs <- t(combn(n, 2))
  L <- matrix(0, nrow(pairs), n)
  L[cbind(seq_len(nrow(pairs)), pairs[, 1])] <- 1
  L[cbind(seq_len(nrow(pairs)), pairs[, 2])] <- -1
  found <- try(suppressMessages(suppressWarnings({
    m <- lmer(score ~ 0 + system + (1 | rater) + (1 | rater:system) + (1 | document), d)
    contest(m, L, joint = FALSE)
  })), silent = TRUE)
  if (inherits(found, "try-error")) {
    line <- data.frame(row = key[k, 1], seed = key[k, 2], first = NA, second = NA, difference = NA, reach = NA, p = NA)
  } else {
    t <- found[["Estimate"]] / found[["Std. Error"]]
    line <- data.frame(row = key[k, 1], seed = key[k, 2], first = pairs[, 1] - 1, second = pairs[, 2] - 1,
      difference = signif(found[["Estimate"]], 7),
      reach = signif(qtukey(.95, n, found[["df"]]) / sqrt(2) * found[["Std. Error"]], 7),
      p = signif(ptukey(abs(t) * sqrt(2), n, found[["df"]], lower.tail = FALSE), 4))
  }
  new <- !file.exists(words[2])
  write.table(line, words[2], sep = ",", append = !new, col.names = new, row.names = FALSE, quote = FALSE)
}
